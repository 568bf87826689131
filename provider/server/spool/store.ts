import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { inTransaction } from "../../lib/sqlite.js";
import {
  type AcceptedDelivery,
  type DeadLetter,
  type KeptDelivery,
  type ListOptions,
  openSpoolDatabase,
  toDeadLetter,
  toKeptDelivery,
} from "./database.js";
import { type AttemptLimits, type DueRow, type DueRows, Lanes } from "./lanes.js";
import { SPOOL_FILE } from "./volume.js";

/** How many rows one workspace has. */
export interface SpoolCounts {
  /** Acknowledged, but neither forwarded nor given up. */
  pending: number;
  deadLetters: number;
  /** When the oldest pending one was accepted, in milliseconds since 1970. */
  oldestMs?: number | undefined;
}

/** Which dead letters: those with these IDs, or all; of one workspace, or of all. */
export interface DeadLetterChoice {
  ids?: readonly string[];
  workspace?: string | undefined;
}

/** A delivery with its headers as JSON. */
export interface StoredDelivery extends Omit<AcceptedDelivery, "headers"> {
  headers: string;
}

/** How an attempt ended, in addition to its result. */
export interface AttemptEnd {
  /** The target did not respond in time. */
  timedOut?: boolean | undefined;
}

/** A failed attempt: why, and how long to wait before the next one. */
export interface FailedAttempt extends AttemptEnd {
  failure: string;
  pauseMs: number;
  /** How long a delivery is tried. */
  maxAgeMs: number;
}

/** Larger than most deliveries. */
const CHECKED: StoredDelivery = {
  id: "",
  workspace: "",
  conversation: undefined,
  headers: "[]",
  body: new Uint8Array(32 * 1024),
};

/** Opens the deliveries in the data folder of a responder, for another process. Returns undefined if there are none. */
export function findSpool(dataDir: string): SpoolStore | undefined {
  const path = join(dataDir, SPOOL_FILE);
  return existsSync(path) ? new SpoolStore(openSpoolDatabase(path, false)) : undefined;
}

/**
 * The deliveries that are acknowledged but not yet forwarded, in a SQLite file. Only the first delivery of a conversation
 * is due. All queries use an index, so they cost the same with 100,000 rows. Every method throws what SQLite throws.
 */
export class SpoolStore implements DueRows {
  readonly lanes = new Lanes(this);
  readonly #database: DatabaseSync;
  readonly #statements: ReturnType<typeof prepareStatements>;
  /** Running time when the process began. */
  readonly #zeroMs: number;
  #lastPosition: number;
  /** The forwarded workspaces in the file, once they have been read. */
  #forwarded: ReadonlySet<string> | undefined;
  /** What follows from the changes of a transaction once that is committed. */
  #effects: (() => void)[] = [];

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#statements = prepareStatements(database);
    const { running_ms: runningMs, last } = this.#statements.begin.get() ?? {};
    this.#zeroMs = Number(runningMs) - performance.now();
    this.#lastPosition = Number(last);
  }

  /** Running time, in milliseconds: it counts only while a responder has the file open. */
  nowMs(): number {
    return Math.floor(this.#zeroMs + performance.now());
  }

  /** Makes changes in one transaction, which is on the disk when this returns. */
  write(change: () => void): void {
    this.#effects = [];
    inTransaction(this.#database, () => {
      change();
      this.#statements.noteTime.run(this.nowMs(), Date.now());
    });
    for (const effect of this.#effects) effect();
  }

  /** Adds a delivery, at the end. Returns its position. */
  accept({ conversation, ...delivery }: StoredDelivery, acceptedMs: number): number {
    this.#lastPosition += 1;
    const given = { ...delivery, conversation: conversation ?? null, acceptedMs };
    this.#statements.accept.run({ ...given, position: this.#lastPosition, nowMs: this.nowMs() });
    this.#wakeEach([delivery.workspace]);
    return this.#lastPosition;
  }

  /** Adds and removes a delivery. */
  check(): void {
    this.#statements.remove.run(this.accept(CHECKED, 0));
  }

  /** Removes a delivery whose attempt succeeded: the next one of its conversation is due. */
  complete(position: number, end: AttemptEnd): void {
    const { workspace, conversation } = this.lanes.taken(position);
    this.#statements.remove.run(position);
    if (conversation !== null) this.#statements.promote.run({ nowMs: this.nowMs(), workspace, conversation });
    this.#endAttempt(position, end);
  }

  /** Counts a failed attempt. Returns false, and changes nothing, if that was the last one. */
  reschedule(position: number, { failure, pauseMs, maxAgeMs, timedOut }: FailedAttempt): boolean {
    const { ageFromMs } = this.lanes.taken(position);
    const [nowMs, endMs] = [this.nowMs(), ageFromMs + maxAgeMs];
    if (nowMs >= endMs) return false;
    this.#statements.reschedule.run(failure, ageFromMs, Math.min(nowMs + pauseMs, endMs), position);
    this.#endAttempt(position, { timedOut });
    return true;
  }

  /** Makes a delivery a dead letter, and counts the failed attempt. */
  bury(position: number, failure: string, end: AttemptEnd): void {
    this.#statements.bury.run(Date.now(), failure, position);
    this.complete(position, end);
  }

  /** Makes a delivery available again whose attempt has come to nothing. */
  release(position: number): void {
    this.lanes.settle(position);
  }

  /** Limits the attempts, and hands out nothing of some workspaces. */
  handOut(limits: AttemptLimits, except: readonly string[]): void {
    this.lanes.limit(limits, new Set(except));
  }

  /**
   * Records which workspaces are forwarded. The age of the deliveries that a workspace has kept counts from when it first
   * appears here. Workspaces that are not listed are forgotten.
   */
  setForwarded(workspaces: readonly string[]): void {
    const { listForwarded, forget, noteForwarded, listWaiting } = this.#statements;
    const noted = this.#forwarded ?? new Set(listForwarded.all().map(toWorkspace));
    const next = new Set(workspaces);
    // Only what has changed: writing 30,000 rows takes a while.
    const added = workspaces.filter((workspace) => !noted.has(workspace));
    const removed = [...noted].filter((workspace) => !next.has(workspace));
    forget.run(JSON.stringify(removed));
    noteForwarded.run({ given: JSON.stringify(added), nowMs: this.nowMs() });
    const waiting = listWaiting.all().map(toWorkspace);
    this.#effects.push(() => {
      this.#forwarded = next;
      this.lanes.follow(next);
    });
    this.#wakeEach(waiting);
  }

  due(workspace: string, nowMs: number, limit: number): DueRow[] {
    return this.#statements.due.all({ workspace, nowMs, limit }) as unknown as DueRow[];
  }

  nextDueMs(workspace: string, nowMs: number): number {
    return Number(this.#statements.nextDue.get(workspace, nowMs)?.due_ms ?? Infinity);
  }

  /** Reads a delivery by its position. */
  read(position: number): KeptDelivery {
    return toKeptDelivery(this.#statements.read.get(position) ?? {});
  }

  /** Finds the deliveries that wait for their next attempt, of these workspaces or of all. Returns their positions. */
  chooseWaiting(workspaces?: readonly string[]): number[] {
    const given = workspaces === undefined ? null : JSON.stringify(workspaces);
    return this.#statements.chooseWaiting.all({ given, nowMs: this.nowMs() }).map(toPosition);
  }

  /** Makes deliveries due that wait for their next attempt. Returns how many did. */
  retryEach(positions: readonly number[]): number {
    const nowMs = this.nowMs();
    const { retry } = this.#statements;
    return this.#wakeEach(positions.flatMap((position) => retry.all({ position, nowMs }).map(toWorkspace)));
  }

  /** Finds dead letters. Returns their positions. */
  chooseDead({ ids, workspace }: DeadLetterChoice): number[] {
    return this.#statements.chooseDead
      .all({ ids: ids ? JSON.stringify(ids) : null, workspace: workspace ?? null })
      .map(toPosition);
  }

  /**
   * Moves dead letters back to their original position in the queue. They keep their IDs, and their age starts again.
   * Returns how many did.
   */
  replayEach(positions: readonly number[]): number {
    const { yieldHead, replay, removeDead } = this.#statements;
    const workspaces = positions.flatMap((position) => {
      yieldHead.run({ position });
      const moved = replay.all({ position, nowMs: this.nowMs() });
      removeDead.run(position);
      return moved.map(toWorkspace);
    });
    return this.#wakeEach(workspaces);
  }

  /** Makes all of these due. Returns the number of conversations. */
  retry(workspaces?: readonly string[]): number {
    return this.#count(() => this.retryEach(this.chooseWaiting(workspaces)));
  }

  /** Replays all of these. Returns their number. */
  replay(choice: DeadLetterChoice): number {
    return this.#count(() => this.replayEach(this.chooseDead(choice)));
  }

  /** Lists the deliveries that wait to be forwarded or read, in the order of acceptance. */
  list({ workspace, limit, after = 0 }: ListOptions): KeptDelivery[] {
    return this.#statements.list.all({ workspace: workspace ?? null, after, limit }).map(toKeptDelivery);
  }

  /** Lists deliveries that could not be forwarded, in the order of acceptance. */
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

  close(): void {
    this.#database.close();
  }

  #count(change: () => number): number {
    let count = 0;
    this.write(() => (count = change()));
    return count;
  }

  #endAttempt(position: number, { timedOut }: AttemptEnd): void {
    this.lanes.end(position, timedOut);
    this.#effects.push(() => this.lanes.settle(position));
  }

  /** Returns how many there are. */
  #wakeEach(workspaces: readonly string[]): number {
    for (const workspace of workspaces) this.#effects.push(() => this.lanes.wake(workspace));
    return workspaces.length;
  }
}

const toPosition = ({ position }: { position?: unknown }): number => Number(position);
const toWorkspace = ({ workspace }: { workspace?: unknown }): string => String(workspace);

function prepareStatements(database: DatabaseSync) {
  return {
    begin: database.prepare(
      `SELECT running_ms, max(coalesce((SELECT max(position) FROM deliveries), 0),
         coalesce((SELECT max(position) FROM dead_letters), 0)) AS last FROM clock`,
    ),
    noteTime: database.prepare("UPDATE clock SET running_ms = ?, noted_ms = ?"),
    accept: database.prepare(
      `INSERT INTO deliveries
         (position, id, workspace, conversation, accepted_ms, age_from_ms, due_ms, headers, body)
       VALUES (:position, :id, :workspace, :conversation, :acceptedMs, :nowMs,
         iif(EXISTS (SELECT 1 FROM deliveries WHERE workspace = :workspace AND conversation = :conversation),
           NULL, :nowMs),
         :headers, :body)`,
    ),
    due: database.prepare(
      `SELECT position, workspace, conversation, attempts, max(age_from_ms, coalesce(since_ms, 0)) AS ageFromMs
       FROM deliveries LEFT JOIN forwarded_workspaces USING (workspace)
       WHERE workspace = :workspace AND due_ms <= :nowMs ORDER BY due_ms, position LIMIT :limit`,
    ),
    nextDue: database.prepare(
      "SELECT due_ms FROM deliveries WHERE workspace = ? AND due_ms > ? ORDER BY due_ms LIMIT 1",
    ),
    listWaiting: database.prepare("SELECT DISTINCT workspace FROM deliveries WHERE due_ms IS NOT NULL"),
    read: database.prepare("SELECT * FROM deliveries WHERE position = ?"),
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
      `SELECT position FROM deliveries WHERE due_ms > :nowMs
       AND (:given IS NULL OR workspace IN (SELECT value FROM json_each(:given)))`,
    ),
    retry: database.prepare(
      `UPDATE deliveries SET due_ms = :nowMs WHERE position = :position AND due_ms > :nowMs
       RETURNING workspace`,
    ),
    chooseDead: database.prepare(
      `SELECT position FROM dead_letters
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
       FROM dead_letters AS letter WHERE position = :position RETURNING workspace`,
    ),
    removeDead: database.prepare("DELETE FROM dead_letters WHERE position = ?"),
    list: database.prepare(
      listOf(
        "deliveries",
        `iif(workspace IN (SELECT workspace FROM forwarded_workspaces),
           due_ms + (SELECT noted_ms - running_ms FROM clock), NULL)`,
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
