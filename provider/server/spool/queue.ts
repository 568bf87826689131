import type { DatabaseSync } from "node:sqlite";
import type { AcceptedDelivery } from "./database.js";
import { SpoolFile, toWorkspace } from "./file.js";
import { Lanes, type AttemptLimits } from "./lanes.js";

export interface StoredDelivery extends Omit<AcceptedDelivery, "conversation" | "headers"> {
  conversation: string | null;
  /** As JSON. */
  headers: string;
}

export interface DueDelivery extends Omit<StoredDelivery, "conversation"> {
  position: number;
  /** How many attempts have failed. */
  attempts: number;
}

export interface FailedAttempt {
  failure: string;
  pauseMs: number;
  /** How long a delivery is retried; 0 if this attempt was the last. */
  maxAgeMs: number;
}

/** How long a workspace waits after its deliveries could not be read, in milliseconds. */
const UNREADABLE_PAUSE_MS = 1_000;

/** The delivery that `check` stores: larger than most. */
const CHECKED: StoredDelivery = {
  id: "",
  workspace: "",
  conversation: null,
  headers: "[]",
  body: new Uint8Array(32 * 1024),
};

/**
 * Only the first delivery of a conversation is due, and only while no other delivery of that conversation is taken.
 * Call `accept`, `forward` and the methods between them within `write`: its commit frees the places of ended attempts.
 */
export class SpoolQueue extends SpoolFile {
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #lanes: Lanes;
  #lastPosition: number;
  /** What to do once the changes of a transaction are committed. */
  #effects: (() => void)[] = [];

  constructor(database: DatabaseSync, limits: AttemptLimits) {
    super(database);
    database.exec(TAKEN);
    this.#statements = prepareStatements(database);
    this.#lanes = new Lanes(limits);
    this.#lastPosition = Number(this.#statements.last.get()?.position);
  }

  override write<T>(change: () => T): T {
    this.#effects = [];
    const result = super.write(change);
    for (const effect of this.#effects) effect();
    return result;
  }

  accept(delivery: StoredDelivery, acceptedMs: number): void {
    const position = (this.#lastPosition += 1);
    this.#statements.accept.run({ ...delivery, position, acceptedMs, nowMs: this.nowMs() });
    this.changed([delivery.workspace]);
  }

  check(): void {
    this.accept(CHECKED, 0);
    this.#statements.remove.run(this.#lastPosition);
  }

  /** Removes a delivery that succeeded or is now a dead letter. The next one of its conversation is then due. */
  complete(position: number, timedOut = false): void {
    const { workspace, conversation } = this.#settle(position, timedOut);
    this.#statements.remove.run(position);
    if (conversation !== null) this.#statements.promote.run({ nowMs: this.nowMs(), workspace, conversation });
  }

  /**
   * Delays the delivery, and those behind it, by the attempt's pause, but only until it reaches its maximum age:
   * then it is tried one last time. Returns true after that attempt: the delivery is now a dead letter.
   */
  fail(position: number, attempt: FailedAttempt, timedOut = false): boolean {
    const { reschedule, bury } = this.#statements;
    const isDead = reschedule.run({ ...attempt, position, nowMs: this.nowMs() }).changes === 0;
    if (isDead) {
      bury.run(Date.now(), attempt.failure, position);
      this.complete(position, timedOut);
    } else this.#settle(position, timedOut);
    return isDead;
  }

  release(position: number): void {
    this.#settle(position, false);
  }

  /**
   * Forwards the deliveries of these workspaces from now on. Deliveries stored earlier start to age when their
   * workspace first appears here; workspaces left out are forgotten. Ends the pauses of the workspaces whose
   * target has changed. Until all this is committed, no delivery of a new workspace is due.
   */
  forward(workspaces: readonly string[], moved: readonly string[]): void {
    const { forget, noteForwarded, listWaiting } = this.#statements;
    const forwarded = new Set(workspaces);
    this.#lanes.forwarded = new Set(workspaces.filter((name) => this.#lanes.forwarded.has(name)));
    const given = JSON.stringify(workspaces);
    forget.run(given);
    noteForwarded.run({ given, nowMs: this.nowMs() });
    this.retryWaiting(moved);
    const waiting = listWaiting.all().map(toWorkspace);
    this.#effects.push(() => (this.#lanes.forwarded = forwarded));
    this.changed(waiting);
  }

  /**
   * Takes the deliveries to forward now, in the order in which they fell due. They are not taken again until
   * they are settled. If a workspace's deliveries cannot be read, reports that and takes the others.
   */
  take(report: (error: unknown) => void): DueDelivery[] {
    const { due, take, nextDue } = this.#statements;
    const nowMs = this.nowMs();
    const taken: DueDelivery[] = [];
    for (const [lane, room] of this.#lanes.ready(nowMs)) {
      const { workspace } = lane;
      try {
        const rows = due.all({ workspace, nowMs, room }) as unknown as DueDelivery[];
        const lookMs = rows.length < room ? Number(nextDue.get(workspace, nowMs)?.due_ms ?? Infinity) : nowMs;
        for (const { position } of rows) take.run(position);
        taken.push(...rows);
        this.#lanes.begin(lane, rows.length, lookMs);
      } catch (error) {
        report(error);
        this.#lanes.begin(lane, 0, nowMs + UNREADABLE_PAUSE_MS);
      }
    }
    return taken;
  }

  /** Returns how long until something is due, in milliseconds; Infinity if nothing is scheduled. */
  pauseMs(): number {
    return Math.max(0, this.#lanes.nextMs() - this.nowMs());
  }

  protected override changed(workspaces: readonly string[]): number {
    this.#effects.push(() => workspaces.forEach((workspace) => this.#lanes.wake(workspace)));
    return super.changed(workspaces);
  }

  #settle(position: number, timedOut: boolean): Pick<StoredDelivery, "workspace" | "conversation"> {
    const taken = this.#statements.settle.get(position) as Pick<StoredDelivery, "workspace" | "conversation">;
    this.#effects.push(() => this.#lanes.end(taken.workspace, timedOut));
    return taken;
  }
}

/** The deliveries that are being forwarded. The table exists only in this connection, in memory. */
const TAKEN = `
  PRAGMA temp_store = MEMORY;
  CREATE TEMP TABLE taken (position INTEGER PRIMARY KEY, workspace TEXT NOT NULL, conversation TEXT);
  CREATE INDEX temp.taken_by_conversation ON taken (workspace, conversation);
`;

const AGE_FROM = `max(age_from_ms, coalesce(
  (SELECT since_ms FROM forwarded_workspaces AS plan WHERE plan.workspace = deliveries.workspace), 0))`;

const prepareStatements = (database: DatabaseSync) => ({
  last: database.prepare(
    `SELECT max(coalesce((SELECT max(position) FROM deliveries), 0),
       coalesce((SELECT max(position) FROM dead_letters), 0)) AS position`,
  ),
  accept: database.prepare(
    `INSERT INTO deliveries
       (position, id, workspace, conversation, accepted_ms, age_from_ms, due_ms, headers, body)
     VALUES (:position, :id, :workspace, :conversation, :acceptedMs, :nowMs,
       iif(EXISTS (SELECT 1 FROM deliveries WHERE workspace = :workspace AND conversation = :conversation),
         NULL, :nowMs),
       :headers, :body)`,
  ),
  remove: database.prepare("DELETE FROM deliveries WHERE position = ?"),
  promote: database.prepare(
    `UPDATE deliveries SET due_ms = coalesce(due_ms, :nowMs), age_from_ms = iif(due_ms IS NULL, :nowMs, age_from_ms)
     WHERE position =
       (SELECT min(position) FROM deliveries WHERE workspace = :workspace AND conversation = :conversation)`,
  ),
  // While this delivery was taken, a replay may have put another before it: due_ms is NULL, as the other is due.
  reschedule: database.prepare(
    `UPDATE deliveries SET attempts = attempts + 1, failure = :failure,
       due_ms = iif(due_ms IS NULL, NULL, min(:nowMs + :pauseMs, ${AGE_FROM} + :maxAgeMs))
     WHERE position = :position AND :nowMs < ${AGE_FROM} + :maxAgeMs`,
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
  forget: database.prepare(
    "DELETE FROM forwarded_workspaces WHERE workspace NOT IN (SELECT value FROM json_each(?))",
  ),
  listWaiting: database.prepare("SELECT DISTINCT workspace FROM deliveries WHERE due_ms IS NOT NULL"),
  due: database.prepare(
    `SELECT position, id, workspace, attempts, headers, body FROM deliveries AS head
     WHERE workspace = :workspace AND due_ms <= :nowMs
       AND position NOT IN (SELECT position FROM taken)
       AND NOT EXISTS (SELECT 1 FROM taken
         WHERE taken.workspace = head.workspace AND taken.conversation = head.conversation)
     ORDER BY due_ms, position LIMIT :room`,
  ),
  nextDue: database.prepare(
    "SELECT due_ms FROM deliveries WHERE workspace = ? AND due_ms > ? ORDER BY due_ms LIMIT 1",
  ),
  take: database.prepare(
    "INSERT INTO taken SELECT position, workspace, conversation FROM deliveries WHERE position = ?",
  ),
  settle: database.prepare("DELETE FROM taken WHERE position = ? RETURNING workspace, conversation"),
});
