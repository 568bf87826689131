import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { makeFolders } from "../../lib/files.js";
import {
  type AcceptedDelivery,
  type DeadLetter,
  type KeptDelivery,
  type ListOptions,
  SpoolClock,
  openSpoolDatabase,
  toDeadLetter,
  toKeptDelivery,
} from "./database.js";
import { SharedCommits } from "./shared-commits.js";
import { SPOOL_FILE, SpoolVolume } from "./volume.js";

/** How long after a write the traces of deleted rows leave the disk, in milliseconds. */
const TIDY_AFTER_MS = 5_000;

/** Larger than most deliveries. */
const CHECK_BYTES = 32 * 1024;

/** What may wait in memory for its first attempt: deliveries of one workspace, and bytes of all of them. */
const FRESH_DELIVERIES = 64;
const FRESH_BYTES = 8 * 1024 * 1024;

/** The memory of a delivery in bytes, with the longest headers that are accepted. */
const memoryOf = ({ body }: AcceptedDelivery): number => body.byteLength + 16 * 1024;

/** How many rows one commit replays or retries, so that other writes get their turn. */
const ROWS_PER_COMMIT = 200;

/** How many rows one workspace has. */
export interface SpoolCounts {
  /** Acknowledged, but neither forwarded nor given up. */
  pending: number;
  deadLetters: number;
  /** When the oldest pending one was accepted, in milliseconds since 1970. */
  oldestMs?: number | undefined;
}

/** A delivery to forward now. */
export interface TakenDelivery extends KeptDelivery {
  /**
   * When its age starts, by the spool's clock: when it became the first of its conversation, was replayed, or its
   * workspace was first forwarded. Moved forward by the time in which no process had the spool open.
   */
  ageFromMs: number;
}

/** A failed attempt: why, and how long to wait before the next one. */
export interface FailedAttempt {
  failure: string;
  pauseMs: number;
  /** How long a delivery is tried. */
  maxAgeMs: number;
}

/** Which dead letters: those with these IDs, or all; of one workspace, or of all. */
export interface DeadLetterChoice {
  ids?: readonly string[];
  workspace?: string | undefined;
}

/**
 * Opens the spool of a data folder. Creates its file (0600) and the folder (0700) if they are missing. The file of a killed
 * process opens as it is. Only the process that holds the folder may write; others may read. Throws a SqliteError or an
 * error of the file system.
 */
export function openSpool(dataDir: string, tidyAfterMs = TIDY_AFTER_MS): Spool {
  makeFolders(dataDir);
  const spool = new Spool(openSpoolDatabase(join(dataDir, SPOOL_FILE), true), tidyAfterMs);
  spool.tidy();
  return spool;
}

/** Opens the spool of a data folder like {@link openSpool}. Returns undefined if there is none. */
export function findSpool(dataDir: string): Spool | undefined {
  const path = join(dataDir, SPOOL_FILE);
  return existsSync(path) ? new Spool(openSpoolDatabase(path, false), TIDY_AFTER_MS) : undefined;
}

/**
 * The deliveries that are acknowledged but not yet forwarded, in a SQLite file that survives the process. It alone knows
 * which ones are due, when, and which wait behind others: only the first delivery of a conversation is due, and none
 * while another one of the conversation is taken. All queries use an index, so they cost the same with 100,000 rows.
 */
export class Spool {
  readonly #database: DatabaseSync;
  readonly #commits: SharedCommits;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #clock: SpoolClock;
  readonly #volume: SpoolVolume;
  #forwarded: ReadonlySet<string> = new Set();
  /** The forwarded workspaces in the file, once they have been read. Only this process changes them. */
  #noted: ReadonlySet<string> | undefined;
  /** When a forwarded workspace has something due in the file, by the spool's clock. 0: it must be looked up. Missing: nothing waits. */
  readonly #dueMs = new Map<string, number>();
  /**
   * Deliveries that were taken when they were stored, by forwarded workspace: their first attempt reads nothing from the
   * file. A workspace gets them only while nothing else of it is due.
   */
  readonly #fresh = new Map<string, TakenDelivery[]>();
  #freshBytes = 0;

  /** Called after each accepted delivery. */
  onAccepted: () => void = () => {};

  constructor(database: DatabaseSync, tidyAfterMs: number) {
    this.#database = database;
    this.#clock = new SpoolClock(database);
    this.#volume = new SpoolVolume(database, tidyAfterMs);
    this.#commits = new SharedCommits(database, this.#clock, this.#volume);
    this.#statements = prepareStatements(database);
  }

  /**
   * Stores a delivery. Resolves once it is on the disk and may be acknowledged. All deliveries of one turn of the event
   * loop share a commit. Rejects with a SqliteError (`full`, `busy`, `closed`, `failed`), and then nothing of it is
   * stored, unless it is `failed`: the disk has failed or a file was removed, and it may be forwarded anyway. `full`: the
   * reserve on the disk would shrink.
   */
  async accept(delivery: AcceptedDelivery): Promise<void> {
    const { id, workspace, conversation = null, body } = delivery;
    const headers = JSON.stringify(delivery.headers);
    const given = { id, workspace, conversation, headers, body, acceptedMs: Date.now() };
    let [position, nowMs] = [0, 0];
    let [isDue, isTaken] = [false, false];
    await this.#volume.claim(headers.length + body.byteLength, () =>
      this.#commits.write("adds", () => {
        // Only now is it known since when the workspace is forwarded: no delivery is older than that.
        nowMs = this.nowMs();
        const stored = this.#statements.accept.get({ ...given, nowMs });
        position = Number(stored?.position);
        isDue = stored?.due_ms !== null;
        isTaken = isDue && this.#forwarded.has(workspace) && (this.#dueMs.get(workspace) ?? Infinity) > nowMs;
        if (isTaken) this.#statements.take.run(position);
      }),
    );
    if (isTaken)
      this.#keep({
        ...delivery,
        position,
        acceptedMs: given.acceptedMs,
        attempts: 0,
        failure: undefined,
        ageFromMs: nowMs,
      });
    else if (isDue) this.#lookUp(workspace);
    this.onAccepted();
  }

  /** Keeps a taken delivery in memory for its first attempt, or releases it if there is no room or no target. */
  #keep(delivery: TakenDelivery): void {
    const { workspace } = delivery;
    const waiting = this.#fresh.get(workspace) ?? [];
    const bytes = this.#freshBytes + memoryOf(delivery);
    if (!this.#forwarded.has(workspace) || waiting.length === FRESH_DELIVERIES || bytes > FRESH_BYTES)
      return this.release(delivery);
    waiting.push(delivery);
    this.#fresh.set(workspace, waiting);
    this.#freshBytes = bytes;
  }

  /** Has what is due of a workspace read from the file. */
  #lookUp(workspace: string): void {
    if (this.#forwarded.has(workspace)) this.#dueMs.set(workspace, 0);
  }

  /**
   * Stores and removes a delivery of 32 KiB in one commit. Rejects with a SqliteError if none could be accepted now. Waits
   * for the disk only if that is asked for.
   */
  async check({ waitsForDisk }: { waitsForDisk: boolean }): Promise<void> {
    const row = { id: "", workspace: "", conversation: null, headers: "[]", acceptedMs: 0, nowMs: 0 };
    await this.#volume.claim(CHECK_BYTES, () =>
      this.#commits.write(waitsForDisk ? "adds" : "frees", () => {
        const stored = this.#statements.accept.get({ ...row, body: new Uint8Array(CHECK_BYTES) });
        this.#statements.remove.run(stored?.position ?? null);
      }),
    );
    this.#commits.requireFiles();
  }

  /** Makes the reserve on the disk and tidies up the files; what cannot be done now, later. */
  tidy(): void {
    this.#volume.tidy();
  }

  /** The time by which deliveries are due. */
  nowMs(): number {
    return this.#clock.nowMs();
  }

  /** When a forwarded workspace has something due. 0 if that is not known: take tells. Infinity if nothing waits. */
  dueMs(workspace: string): number {
    return this.#fresh.has(workspace) ? 0 : (this.#dueMs.get(workspace) ?? Infinity);
  }

  /** The forwarded workspaces of which something waits: the others cost nothing, however many they are. */
  waiting(): Iterable<string> {
    return new Set([...this.#fresh.keys(), ...this.#dueMs.keys()]);
  }

  /**
   * Takes at most this many due deliveries of a workspace, the longest due first. No one else gets them, or others of
   * their conversations, until `complete`, `reschedule`, `bury` or `release`.
   */
  take(workspace: string, limit: number): TakenDelivery[] {
    const nowMs = this.nowMs();
    const waiting = this.#fresh.get(workspace) ?? [];
    const fresh = waiting.splice(0, limit);
    if (waiting.length === 0) this.#fresh.delete(workspace);
    for (const delivery of fresh) this.#freshBytes -= memoryOf(delivery);
    if (fresh.length > 0) return fresh;
    const { due, take, nextDue } = this.#statements;
    const rows = due.all({ workspace, nowMs, openedMs: this.#clock.openedMs, limit });
    for (const { position = null } of rows) take.run(position);
    if (rows.length < limit) {
      const next = nextDue.get(workspace, nowMs)?.due_ms ?? null;
      if (next === null) this.#dueMs.delete(workspace);
      else if (this.#forwarded.has(workspace)) this.#dueMs.set(workspace, Number(next));
    }
    return rows.map((row) => ({ ...toKeptDelivery(row), ageFromMs: Number(row.age_ms) }));
  }

  /** Makes a delivery available again whose attempt has come to nothing. */
  release({ position, workspace }: KeptDelivery): void {
    this.#statements.release.run(position);
    this.#lookUp(workspace);
  }

  /** Deletes a forwarded delivery. */
  complete(delivery: KeptDelivery): Promise<void> {
    return this.#settle(delivery, () => this.#removeHead(delivery));
  }

  /**
   * Counts a failed attempt. Neither the delivery nor those behind it are due until the pause is over; the last attempt is
   * made when its age is reached. Resolves with false, and changes nothing, if that was this one.
   */
  async reschedule(delivery: TakenDelivery, { failure, pauseMs, maxAgeMs }: FailedAttempt): Promise<boolean> {
    const { position, ageFromMs } = delivery;
    const nowMs = this.nowMs();
    const endMs = ageFromMs + maxAgeMs;
    if (nowMs >= endMs) return false;
    const dueMs = Math.min(nowMs + pauseMs, endMs);
    await this.#settle(
      delivery,
      () => void this.#statements.reschedule.run(failure, ageFromMs, dueMs, position),
    );
    return true;
  }

  /** Makes a delivery a dead letter, and counts the failed attempt. */
  bury(delivery: KeptDelivery, failure: string): Promise<void> {
    return this.#settle(delivery, () => {
      this.#statements.bury.run(Date.now(), failure, delivery.position);
      return this.#removeHead(delivery);
    });
  }

  /** Ends an attempt in one commit with its outcome. `write` returns true if nothing can be due because of it. */
  async #settle(delivery: KeptDelivery, write: () => boolean | undefined): Promise<void> {
    const isLast = await this.#commits.write("frees", () => {
      this.#statements.release.run(delivery.position);
      return write();
    });
    if (!isLast) this.#lookUp(delivery.workspace);
  }

  /** Returns whether it was the last one of its conversation. */
  #removeHead({ position, workspace, conversation }: KeptDelivery): boolean {
    this.#statements.remove.run(position);
    if (conversation === undefined) return true;
    const nowMs = this.nowMs();
    return this.#statements.promote.run({ nowMs, workspace, conversation }).changes === 0;
  }

  /**
   * Records which workspaces are forwarded from now on. The age of the deliveries that a workspace has kept counts from
   * when it first appears here. Workspaces that are not listed are forgotten.
   */
  async setForwarded(workspaces: readonly string[]): Promise<void> {
    const nowMs = this.nowMs();
    const waiting = [...this.#fresh.values()].flat();
    this.#fresh.clear();
    this.#freshBytes = 0;
    for (const delivery of waiting) this.release(delivery);
    this.#forwarded = new Set(workspaces);
    this.#dueMs.clear();
    for (const { workspace, due_ms: dueMs } of this.#statements.firstDue.all())
      if (this.#forwarded.has(String(workspace))) this.#dueMs.set(String(workspace), Number(dueMs));
    const { listForwarded, forget, noteForwarded } = this.#statements;
    const noted = this.#noted ?? new Set(listForwarded.all().map(({ workspace }) => String(workspace)));
    const added = JSON.stringify(workspaces.filter((name) => !noted.has(name)));
    const removed = JSON.stringify([...noted].filter((name) => !this.#forwarded.has(name)));
    // Only what has changed: writing 30,000 rows takes longer than a turn of the event loop may.
    await this.#commits.write("frees", () => {
      forget.run(removed);
      noteForwarded.run({ given: added, nowMs });
    });
    this.#noted = this.#forwarded;
  }

  /** Makes waiting deliveries due now, of these workspaces or of all. Resolves with the number of conversations. */
  async retry(workspaces?: readonly string[]): Promise<number> {
    const nowMs = this.nowMs();
    const given = workspaces === undefined ? null : JSON.stringify(workspaces);
    const waiting = this.#statements.chooseWaiting.all({ given, nowMs });
    return this.#changeEach(waiting, (position) =>
      Number(this.#statements.retry.run({ position, nowMs }).changes),
    );
  }

  /**
   * Moves dead letters back to their original position in the queue. They keep their IDs, and their age starts again.
   * Resolves with their number.
   */
  async replay({ ids, workspace }: DeadLetterChoice): Promise<number> {
    // Selects all of them up front: letters that are rejected again in the meantime would be replayed forever.
    const choice = { ids: ids ? JSON.stringify(ids) : null, workspace: workspace ?? null };
    return this.#changeEach(this.#statements.chooseDead.all(choice), (position) => {
      const { yieldHead, replay, removeDead } = this.#statements;
      yieldHead.run({ position });
      replay.run({ position, nowMs: this.nowMs() });
      return Number(removeDead.run(position).changes);
    });
  }

  async #changeEach(
    rows: readonly { position?: unknown; workspace?: unknown }[],
    change: (position: number) => number,
  ): Promise<number> {
    let count = 0;
    for (let start = 0; start < rows.length; start += ROWS_PER_COMMIT) {
      const some = rows.slice(start, start + ROWS_PER_COMMIT);
      count += await this.#commits.write("frees", () =>
        some.reduce((sum, { position }) => sum + change(Number(position)), 0),
      );
      for (const { workspace } of some) this.#lookUp(String(workspace));
    }
    return count;
  }

  /** Lists the deliveries that wait to be forwarded or read, in the order of acceptance. */
  list({ workspace, limit, after = 0 }: ListOptions): KeptDelivery[] {
    const page = { workspace: workspace ?? null, after, limit };
    return this.#statements.list.all({ ...page, aheadMs: this.#clock.aheadMs() }).map(toKeptDelivery);
  }

  /** Lists the deliveries that could not be forwarded, in the order of acceptance. */
  listDeadLetters({ workspace, limit, after = 0 }: ListOptions): DeadLetter[] {
    return this.#statements.listDead.all({ workspace: workspace ?? null, after, limit }).map(toDeadLetter);
  }

  /** Finds a delivery, or a dead letter, by its ID. */
  find(id: string): KeptDelivery | undefined {
    const row = this.#statements.find.get({ id });
    return row && toKeptDelivery(row);
  }

  /** Returns the IDs that are not those of dead letters. */
  findUnknown(ids: readonly string[]): string[] {
    return this.#statements.findUnknown.all(JSON.stringify(ids)).map(({ id }) => String(id));
  }

  /** Counts the rows by workspace. A workspace without rows is missing. */
  counts(): Map<string, SpoolCounts> {
    return new Map(
      this.#statements.counts
        .all()
        .map(({ workspace, pending, dead_letters: deadLetters, oldest_ms: oldestMs }) => [
          String(workspace),
          {
            pending: Number(pending),
            deadLetters: Number(deadLetters),
            oldestMs: Number(oldestMs) || undefined,
          },
        ]),
    );
  }

  /** Commits waiting writes, and closes the file. Later writes are rejected. */
  close(): void {
    this.#commits.close();
    this.#volume.close();
    if (this.#database.isOpen) this.#database.close();
  }
}

function prepareStatements(database: DatabaseSync) {
  return {
    accept: database.prepare(
      `INSERT INTO deliveries (id, workspace, conversation, accepted_ms, age_from_ms, due_ms, headers, body)
       VALUES (:id, :workspace, :conversation, :acceptedMs, :nowMs,
         iif(EXISTS (SELECT 1 FROM deliveries WHERE workspace = :workspace AND conversation = :conversation),
           NULL, :nowMs),
         :headers, :body) RETURNING position, due_ms`,
    ),
    // What was due before the file was opened has not been tried since.
    due: database.prepare(
      `SELECT head.*, max(age_from_ms + max(0, :openedMs - due_ms), coalesce(since_ms, 0)) AS age_ms
       FROM deliveries AS head LEFT JOIN forwarded_workspaces USING (workspace)
       WHERE workspace = :workspace AND due_ms <= :nowMs
         AND position NOT IN (SELECT position FROM taken)
         AND NOT EXISTS (SELECT 1 FROM taken
           WHERE taken.workspace = head.workspace AND taken.conversation = head.conversation)
       ORDER BY due_ms, position LIMIT :limit`,
    ),
    firstDue: database.prepare(
      "SELECT workspace, min(due_ms) AS due_ms FROM deliveries WHERE due_ms IS NOT NULL GROUP BY workspace",
    ),
    nextDue: database.prepare(
      "SELECT due_ms FROM deliveries WHERE workspace = ? AND due_ms > ? ORDER BY due_ms LIMIT 1",
    ),
    take: database.prepare(
      "INSERT INTO taken SELECT position, workspace, conversation FROM deliveries WHERE position = ?",
    ),
    release: database.prepare("DELETE FROM taken WHERE position = ?"),
    remove: database.prepare("DELETE FROM deliveries WHERE position = ?"),
    promote: database.prepare(
      `UPDATE deliveries SET due_ms = coalesce(due_ms, :nowMs), age_from_ms = iif(due_ms IS NULL, :nowMs, age_from_ms)
       WHERE position =
         (SELECT min(position) FROM deliveries WHERE workspace = :workspace AND conversation = :conversation)`,
    ),
    // A replay may have put another delivery before this one while it was taken: then that one is due, not this.
    reschedule: database.prepare(
      `UPDATE deliveries SET attempts = attempts + 1, failure = ?, age_from_ms = ?, due_ms = iif(due_ms IS NULL, NULL, ?)
       WHERE position = ?`,
    ),
    bury: database.prepare(
      `INSERT INTO dead_letters
       SELECT position, id, workspace, conversation, accepted_ms, ?, attempts + 1, ?, headers, body
       FROM deliveries WHERE position = ?`,
    ),
    noteForwarded: database.prepare(
      `INSERT INTO forwarded_workspaces (workspace, since_ms)
       SELECT value, :nowMs FROM json_each(:given) WHERE true ON CONFLICT DO NOTHING`,
    ),
    listForwarded: database.prepare("SELECT workspace FROM forwarded_workspaces"),
    forget: database.prepare(
      "DELETE FROM forwarded_workspaces WHERE workspace IN (SELECT value FROM json_each(?))",
    ),
    chooseWaiting: database.prepare(
      `SELECT position, workspace FROM deliveries WHERE due_ms > :nowMs
       AND (:given IS NULL OR workspace IN (SELECT value FROM json_each(:given)))`,
    ),
    retry: database.prepare(
      "UPDATE deliveries SET due_ms = :nowMs WHERE position = :position AND due_ms > :nowMs",
    ),
    chooseDead: database.prepare(
      `SELECT position, workspace FROM dead_letters
       WHERE (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids))) AND ${OF_WORKSPACE} ORDER BY position`,
    ),
    // The first waiting delivery of a conversation is no longer the first if the dead letter was before it.
    yieldHead: database.prepare(
      `UPDATE deliveries SET due_ms = NULL WHERE position > :position AND position =
       (SELECT min(later.position) FROM dead_letters AS letter
        JOIN deliveries AS later USING (workspace, conversation) WHERE letter.position = :position)`,
    ),
    replay: database.prepare(
      `INSERT INTO deliveries
         (position, id, workspace, conversation, accepted_ms, age_from_ms, due_ms, headers, body)
       SELECT position, id, workspace, conversation, accepted_ms, :nowMs,
         iif(EXISTS (SELECT 1 FROM deliveries AS earlier WHERE earlier.workspace = letter.workspace
           AND earlier.conversation = letter.conversation AND earlier.position < letter.position), NULL, :nowMs),
         headers, body
       FROM dead_letters AS letter WHERE position = :position`,
    ),
    removeDead: database.prepare("DELETE FROM dead_letters WHERE position = ?"),
    list: database.prepare(
      listOf(
        "deliveries",
        "iif(workspace IN (SELECT workspace FROM forwarded_workspaces), due_ms - :aheadMs, NULL)",
      ),
    ),
    listDead: database.prepare(listOf("dead_letters", "NULL")),
    find: database.prepare(
      ["deliveries", "dead_letters"]
        .map(
          (table) =>
            `SELECT position, id, workspace, conversation, accepted_ms, attempts, failure, headers, body FROM ${table} WHERE id = :id`,
        )
        .join(" UNION ALL "),
    ),
    findUnknown: database.prepare(
      "SELECT DISTINCT value AS id FROM json_each(?) WHERE value NOT IN (SELECT id FROM dead_letters)",
    ),
    counts: database.prepare(
      `SELECT counted.workspace, sum(pending) AS pending, sum(dead_letters) AS dead_letters,
         max(head.accepted_ms) AS oldest_ms FROM (
         SELECT workspace, count(*) AS pending, 0 AS dead_letters, min(position) AS oldest
         FROM deliveries GROUP BY workspace
         UNION ALL SELECT workspace, 0, count(*), NULL FROM dead_letters GROUP BY workspace
       ) AS counted LEFT JOIN deliveries AS head ON head.position = oldest GROUP BY counted.workspace`,
    ),
  };
}

const OF_WORKSPACE = "(:workspace IS NULL OR workspace = :workspace)";

/** Finds the rows in an index, so that no other bodies are read. */
const listOf = (table: string, nextDue: string): string =>
  `SELECT *, ${nextDue} AS next_due_ms FROM ${table} WHERE position IN
   (SELECT position FROM ${table} WHERE ${OF_WORKSPACE} AND position > :after ORDER BY position LIMIT :limit)
   ORDER BY position`;
