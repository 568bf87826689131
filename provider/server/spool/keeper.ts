import type { DatabaseSync } from "node:sqlite";
import { type SqliteError, toSqliteError } from "../../lib/sqlite.js";
import type { AttemptLimits } from "./lanes.js";
import { SpoolQueue } from "./queue.js";
import { SpoolVolume } from "./volume.js";

/** How each call affects the disk. `adds`: it needs space. `frees`: it changes or deletes rows. */
const KINDS = {
  accept: "adds",
  check: "adds",
  complete: "frees",
  fail: "frees",
  release: "frees",
  forward: "frees",
  retryWaiting: "frees",
  replayEach: "frees",
  chooseDead: "reads",
  counts: "reads",
} as const;

export type CallName = keyof typeof KINDS;

export type Call<Name extends CallName = CallName> = {
  [Each in Name]: readonly [Each, ...Parameters<SpoolQueue[Each]>];
}[Name];

export type Failure = Pick<SqliteError, "code" | "message">;

export interface Outcome {
  value?: unknown;
  error?: Failure;
}

interface Job {
  call: Call;
  outcome: Outcome;
}

/** Keeps the file of a spool for its responder. Blocks its thread while the disk works. */
export class SpoolKeeper {
  readonly queue: SpoolQueue;
  readonly #volume: SpoolVolume;

  constructor(database: DatabaseSync, limits: AttemptLimits, tidyAfterMs: number) {
    this.queue = new SpoolQueue(database, limits);
    this.#volume = new SpoolVolume(database, tidyAfterMs);
    this.#volume.tidy();
  }

  /**
   * Makes all calls in one transaction. Their changes are on disk when this returns. A call that fails changes nothing
   * and does not affect the others. `bytes` is how much the calls add.
   */
  run(calls: readonly Call[], bytes: number): Outcome[] {
    const jobs = calls.map((call): Job => ({ call, outcome: {} }));
    const { adds = [], frees = [], reads = [] } = Object.groupBy(jobs, ({ call: [name] }) => KINDS[name]);
    const refusal = adds.length > 0 ? this.#volume.findRefusal(bytes) : undefined;
    this.#commit(refusal ? frees : [...frees, ...adds]);
    for (const job of reads) {
      try {
        this.#make(job);
      } catch (error) {
        fail([job], error);
      }
    }
    const failure = refusal ?? (adds.length > 0 ? this.#volume.findFailure() : undefined);
    if (failure) fail(adds, failure);
    return jobs.map(({ outcome }) => outcome);
  }

  close(): void {
    this.#volume.close();
    this.queue.close();
  }

  /**
   * If one commit for all calls fails, each call is tried alone. So a delivery that does not fit holds back
   * neither smaller ones nor deletions, which make room. A call that fails alone is retried once.
   */
  #commit(jobs: readonly Job[], isLast = false): void {
    if (jobs.length === 0) return;
    try {
      this.queue.write(() => {
        for (const job of jobs) this.#make(job);
      });
      this.#volume.tidyLater();
    } catch (cause) {
      const error = toSqliteError(cause);
      fail(jobs, error);
      this.#volume.noteFailure(error);
      // Waiting for another process takes long, so do not wait again for each call.
      if (isLast || error.code === "busy") return;
      if (jobs.length > 1) for (const job of jobs) this.#commit([job]);
      else {
        if (error.code === "full") this.#volume.makeRoom();
        this.#commit(jobs, true);
      }
    }
  }

  #make(job: Job): void {
    const [name, ...parameters] = job.call;
    const method = this.queue[name] as (...given: readonly unknown[]) => unknown;
    job.outcome = { value: method.apply(this.queue, parameters) };
  }
}

function fail(jobs: readonly Job[], error: unknown): void {
  for (const job of jobs) job.outcome = { error: toFailure(error) };
}

export function toFailure(error: unknown): Failure {
  const { code, message } = toSqliteError(error);
  return { code, message };
}
