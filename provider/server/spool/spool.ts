import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { makeFolders } from "../../lib/files.js";
import { DeadLetters } from "./dead-letters.js";
import { ForwardQueue } from "./forward-queue.js";
import {
  openSpoolDatabase,
  toKeptDelivery,
  type AcceptedDelivery,
  type KeptDelivery,
  type ListOptions,
} from "./database.js";
import { SpoolClock } from "./clock.js";
import { SharedCommits } from "./shared-commits.js";
import { SpoolTidying } from "./tidying.js";
import { releaseReserve, SpoolVolume } from "./volume.js";

export interface SpoolOptions {
  /** Whether a missing file is made. Default true. */
  create?: boolean;
  /** How long after a write the traces of deleted rows leave the disk, in milliseconds. Default 5,000. */
  tidyAfterMs?: number;
}

/** Larger than most deliveries. */
const CHECK_BYTES = 32 * 1024;

/** How many rows of one workspace there are. */
export interface SpoolCounts {
  /** Acknowledged, and neither forwarded nor given up. */
  pending: number;
  deadLetters: number;
}

/**
 * Opens the spool's file, and makes it (0600) and its folder (0700) if they are missing. A file of a process that was
 * killed opens as it is. Several processes may have one file open. Throws a SqliteError or an error of the file system.
 */
export function openSpool(path: string, { create = true, tidyAfterMs = 5_000 }: SpoolOptions = {}): Spool {
  if (create) makeFolders(dirname(path));
  return new Spool(openSpoolDatabase(path, create), tidyAfterMs);
}

/** The deliveries that are acknowledged and not yet forwarded, in a SQLite file that survives the process. */
export class Spool {
  readonly #database: DatabaseSync;
  readonly #commits: SharedCommits;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #clock: SpoolClock;
  readonly #volume: SpoolVolume;
  readonly #tidying: SpoolTidying;
  #onAccepted: (workspace: string) => void = () => {};

  /** What the forwarder takes its work from. */
  readonly queue: ForwardQueue;
  /** What could not be forwarded. */
  readonly deadLetters: DeadLetters;

  constructor(database: DatabaseSync, tidyAfterMs: number) {
    this.#database = database;
    this.#clock = new SpoolClock(database);
    this.#volume = new SpoolVolume(database);
    this.#tidying = new SpoolTidying(database, this.#volume, tidyAfterMs);
    this.#commits = new SharedCommits(database, {
      note: () => this.#clock.note(),
      onCommit: () => this.#tidying.schedule(),
      makeRoom: () => {
        releaseReserve(database.location() ?? "");
        this.#tidying.reuseLog();
      },
    });
    this.#statements = prepareStatements(database);
    this.deadLetters = new DeadLetters(database, this.#commits, this.#clock);
    this.queue = new ForwardQueue(database, this.#commits, this.#clock);
  }

  /**
   * Keeps a delivery. Resolves once it is on the disk: it may be acknowledged then. All deliveries of one turn of the event
   * loop share a commit. The reserve on the disk stays free, and a file that was removed takes no more. Rejects with a SqliteError (`full`, `busy`, `closed`, `failed`), and then nothing of it is kept.
   */
  async accept({ id, workspace, conversation, headers, body }: AcceptedDelivery): Promise<void> {
    const row = {
      id,
      workspace,
      conversation: conversation ?? null,
      headers: JSON.stringify(headers),
      body,
      acceptedMs: Date.now(),
      nowMs: this.#clock.nowMs(),
    };
    const bytes = row.headers.length + body.byteLength;
    await this.#volume.claim(bytes, () =>
      this.#commits.write("adds", () => void this.#statements.accept.run(row)),
    );
    this.#onAccepted(workspace);
  }

  /**
   * Keeps a delivery of 32 KiB and removes it in the same commit. Rejects with a SqliteError if that cannot be done: nothing
   * could be accepted now.
   */
  check(): Promise<void> {
    return this.#volume.claim(CHECK_BYTES, () => this.#commits.write("adds", () => this.#storeAndRemove()));
  }

  #storeAndRemove(): void {
    const [body, times] = [new Uint8Array(CHECK_BYTES), { acceptedMs: 0, nowMs: 0 }];
    this.#statements.accept.run({ id: "", workspace: "", conversation: null, headers: "[]", body, ...times });
    this.#statements.remove.run("");
  }

  /** Calls this for each delivery from now on, after its commit. There is one listener. */
  onAccepted(listener: (workspace: string) => void): void {
    this.#onAccepted = listener;
  }

  /** What waits to be forwarded or read, in the order of acceptance. */
  list({ workspace, limit, after = 0 }: ListOptions): KeptDelivery[] {
    const ahead = this.#clock.aheadMs();
    const rows = this.#statements.list.all(ahead, workspace ?? null, workspace ?? null, after, limit);
    return rows.map(toKeptDelivery);
  }

  /**
   * Makes waiting deliveries due now, of one workspace or of all. Resolves with the number of conversations affected.
   * If the forwarder runs in another process, notify it with `requestRetry`.
   */
  async retry(workspace?: string): Promise<number> {
    const workspaces = workspace === undefined ? [...this.counts().keys()] : [workspace];
    let count = 0;
    for (const one of workspaces) count += await this.queue.retry(one);
    return count;
  }

  /** How many rows there are, by workspace; a workspace without any is missing. */
  counts(): Map<string, SpoolCounts> {
    const counts = new Map<string, SpoolCounts>();
    for (const { workspace, pending, dead_letters: deadLetters } of this.#statements.counts.all()) {
      counts.set(String(workspace), { pending: Number(pending), deadLetters: Number(deadLetters) });
    }
    return counts;
  }

  /** Commits what waits, and closes the file. What is accepted afterwards is refused. */
  close(): void {
    this.#commits.close();
    this.#tidying.close();
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
         :headers, :body)`,
    ),
    remove: database.prepare("DELETE FROM deliveries WHERE id = ?"),
    // The rows are found in an index, so that bodies which are not asked for are not read.
    list: database.prepare(
      `SELECT *, iif(workspace IN (SELECT workspace FROM forwarded_workspaces), due_ms - ?, NULL) AS next_due_ms
       FROM deliveries WHERE position IN
       (SELECT position FROM deliveries WHERE (? IS NULL OR workspace = ?) AND position > ?
        ORDER BY position LIMIT ?)
       ORDER BY position`,
    ),
    counts: database.prepare(
      `SELECT workspace, sum(pending) AS pending, sum(dead_letters) AS dead_letters FROM (
         SELECT workspace, count(*) AS pending, 0 AS dead_letters FROM deliveries GROUP BY workspace
         UNION ALL SELECT workspace, 0, count(*) FROM dead_letters GROUP BY workspace
       ) GROUP BY workspace`,
    ),
  };
}
