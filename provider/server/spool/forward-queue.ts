import type { DatabaseSync } from "node:sqlite";
import type { SharedCommits } from "./shared-commits.js";
import type { SpoolClock } from "./clock.js";
import { toKeptDelivery, type KeptDelivery } from "./database.js";

/** The first delivery of a conversation, or one without a conversation. */
export interface Head {
  position: number;
  conversation: string | undefined;
}

/** A delivery to forward to its target. */
export interface ForwardableDelivery extends KeptDelivery {
  /**
   * When its age starts, by the spool's clock: when it became the first of its conversation, was replayed, or its
   * workspace was first forwarded. Moved forward by the time in which no forwarder ran.
   */
  ageFromMs: number;
}

/** A failed attempt: why, and when the next one is due. */
export interface Rescheduling {
  failure: string;
  dueMs: number;
}

/** How many rows one commit makes due, so that other writes get their turn. */
const ROWS_A_COMMIT = 500;

/**
 * The spool as the forwarder sees it. Only the first delivery of a conversation is ever due; `complete` and `bury` make
 * the next one due in the same commit. All queries go by an index: they cost the same with 100,000 rows waiting.
 */
export class ForwardQueue {
  readonly #commits: SharedCommits;
  readonly #clock: SpoolClock;
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(database: DatabaseSync, commits: SharedCommits, clock: SpoolClock) {
    this.#commits = commits;
    this.#clock = clock;
    this.#statements = prepareStatements(database);
  }

  /** The time by which deliveries are due. */
  nowMs(): number {
    return this.#clock.nowMs();
  }

  /** What is due at `nowMs`, the longest due first. */
  dueHeads(workspace: string, nowMs: number, limit: number): Head[] {
    const rows = this.#statements.dueHeads.all(workspace, nowMs, limit);
    return rows.map(({ position, conversation }) => ({
      position: Number(position),
      conversation: conversation === null ? undefined : String(conversation),
    }));
  }

  /** When the next delivery is due after `nowMs`; undefined if none is. */
  nextDueMs(workspace: string, nowMs: number): number | undefined {
    const row = this.#statements.nextDue.get(workspace, nowMs);
    return row === undefined ? undefined : Number(row.due_ms);
  }

  /**
   * The delivery with its body; undefined if another process has removed it. If it was due before `startedMs`, when the
   * forwarder started, nobody has tried it in between.
   */
  read(position: number, startedMs = 0): ForwardableDelivery | undefined {
    const row = this.#statements.read.get(position);
    if (row === undefined) return undefined;
    const offMs = Math.max(0, startedMs - Number(row.due_ms ?? startedMs));
    return {
      ...toKeptDelivery(row),
      ageFromMs: Math.max(Number(row.age_from_ms) + offMs, Number(row.since_ms)),
    };
  }

  /** Deletes a forwarded delivery. */
  complete(delivery: KeptDelivery): Promise<void> {
    return this.#commits.write("frees", () => this.#removeHead(delivery));
  }

  /** Counts a failed attempt, and leaves the delivery and those behind it alone until `dueMs`. */
  reschedule({ position, ageFromMs }: ForwardableDelivery, { failure, dueMs }: Rescheduling): Promise<void> {
    return this.#commits.write("frees", () => {
      this.#statements.reschedule.run(failure, ageFromMs, dueMs, position);
    });
  }

  /** Makes a delivery a dead letter. The attempt that failed is counted. */
  bury(delivery: KeptDelivery, failure: string): Promise<void> {
    return this.#commits.write("frees", () => {
      this.#statements.bury.run(Date.now(), failure, delivery.position);
      this.#removeHead(delivery);
    });
  }

  /**
   * Notes which workspaces are forwarded from now on. The age of what a workspace has kept counts from when it first
   * appears here; a workspace that is not named is forgotten.
   */
  setForwarded(workspaces: readonly string[]): Promise<void> {
    return this.#commits.write("frees", () => {
      this.#statements.forgetOthers.run(JSON.stringify(workspaces));
      for (const workspace of workspaces) this.#statements.noteForwarded.run(workspace, this.nowMs());
    });
  }

  /** Ends the pauses of a workspace: what waits for another attempt is due now. Resolves with how many pauses there were. */
  async retry(workspace: string): Promise<number> {
    const nowMs = this.nowMs();
    const retrySome = (): number => Number(this.#statements.retry.run(nowMs, workspace, nowMs).changes);
    for (let count = 0; ;) {
      const some = await this.#commits.write("frees", retrySome);
      count += some;
      if (some < ROWS_A_COMMIT) return count;
    }
  }

  #removeHead({ position, workspace, conversation }: KeptDelivery): void {
    this.#statements.remove.run(position);
    if (conversation !== undefined)
      this.#statements.promote.run({ nowMs: this.nowMs(), workspace, conversation });
  }
}

function prepareStatements(database: DatabaseSync) {
  return {
    dueHeads: database.prepare(
      `SELECT position, conversation FROM deliveries
       WHERE workspace = ? AND due_ms <= ? ORDER BY due_ms, position LIMIT ?`,
    ),
    nextDue: database.prepare(
      "SELECT due_ms FROM deliveries WHERE workspace = ? AND due_ms > ? ORDER BY due_ms LIMIT 1",
    ),
    read: database.prepare(
      `SELECT deliveries.*, coalesce(since_ms, 0) AS since_ms FROM deliveries
       LEFT JOIN forwarded_workspaces USING (workspace) WHERE position = ?`,
    ),
    remove: database.prepare("DELETE FROM deliveries WHERE position = ?"),
    promote: database.prepare(
      `UPDATE deliveries SET due_ms = :nowMs, age_from_ms = :nowMs WHERE due_ms IS NULL AND position =
       (SELECT min(position) FROM deliveries WHERE workspace = :workspace AND conversation = :conversation)`,
    ),
    // A replay may have put another delivery before this one while it was in progress: then that one is due, not this.
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
      "INSERT INTO forwarded_workspaces (workspace, since_ms) VALUES (?, ?) ON CONFLICT DO NOTHING",
    ),
    forgetOthers: database.prepare(
      "DELETE FROM forwarded_workspaces WHERE workspace <> '' AND workspace NOT IN (SELECT value FROM json_each(?))",
    ),
    retry: database.prepare(
      `UPDATE deliveries SET due_ms = ? WHERE position IN
       (SELECT position FROM deliveries WHERE workspace = ? AND due_ms > ? LIMIT ${ROWS_A_COMMIT})`,
    ),
  };
}
