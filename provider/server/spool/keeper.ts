import type { DatabaseSync } from "node:sqlite";
import { type SqliteError, toSqliteError } from "../../lib/sqlite.js";
import type { KeptDelivery } from "./database.js";
import { type AttemptEnd, SpoolStore } from "./store.js";
import { SpoolVolume } from "./volume.js";

/** Need room. */
const ADDS = ["accept", "check"] as const;
/** Free or change rows. */
const FREES = ["complete", "reschedule", "bury", "setForwarded", "retryEach", "replayEach"] as const;
/** Write nothing. */
const READS = ["release", "handOut", "chooseWaiting", "chooseDead", "counts"] as const;

/** What the keeper does with its store when it is asked to. */
export type CallName = (typeof ADDS | typeof FREES | typeof READS)[number];
export type CallOf<Name extends CallName> = readonly [name: Name, ...Parameters<SpoolStore[Name]>];
export type ResultOf<Name extends CallName> = ReturnType<SpoolStore[Name]>;
export type Call = readonly [name: CallName, ...parameters: readonly unknown[]];

/** What came of a call. */
export interface Outcome {
  value?: unknown;
  error?: Pick<SqliteError, "code" | "message">;
}

/** A delivery to forward now. */
export interface HandedOut {
  position: number;
  /** How many attempts have failed. */
  attempts: number;
  /** Which call of the batch has accepted it. */
  call?: number;
  /** Missing if one has. */
  delivery?: KeptDelivery;
}

interface Job extends Outcome {
  call: Call;
}

/** Bytes of deliveries that are read at a time. What is due beyond that follows at once. */
const HAND_OUT_BYTES = 8 * 1024 * 1024;

/**
 * Keeps the spool's file: carries out calls, a batch in one transaction, and decides what to forward. Blocks its thread
 * while the disk works.
 */
export class SpoolKeeper {
  readonly #store: SpoolStore;
  readonly #volume: SpoolVolume;
  /** When to hand out again, in running time. */
  #nextMs = Infinity;

  constructor(database: DatabaseSync, tidyAfterMs: number) {
    this.#store = new SpoolStore(database);
    this.#volume = new SpoolVolume(database, tidyAfterMs);
    this.#volume.tidy();
  }

  /**
   * Carries out calls, of which those that add write this many bytes. What they change is on the disk when this returns. A
   * call fails alone, and then changes nothing.
   */
  run(calls: readonly Call[], bytes: number): Outcome[] {
    const jobs = calls.map((call): Job => ({ call }));
    const of = (names: readonly string[]) => jobs.filter(({ call: [name] }) => names.includes(name));
    const [adds, frees, reads] = [of(ADDS), of(FREES), of(READS)];
    const refusal = adds.length > 0 ? this.#volume.findRefusal(bytes) : undefined;
    this.#commit(refusal === undefined ? [...frees, ...adds] : frees);
    for (const job of reads) this.#perform(job);
    const failure = refusal ?? (adds.length > 0 ? this.#volume.findFailure() : undefined);
    if (failure !== undefined) fail(adds, failure);
    return jobs.map(({ value, error }) => (error ? { error } : { value }));
  }

  /** Notes the attempts that have ended by these calls, which are carried out later: others may begin. */
  noteEnds(calls: readonly Call[]): void {
    for (const [name, position, ...rest] of calls) {
      if (name !== "complete" && name !== "reschedule" && name !== "bury") continue;
      this.#store.lanes.end(Number(position), (rest.at(-1) as AttemptEnd).timedOut);
    }
  }

  /** Returns what is to be forwarded now. What these calls have accepted is named by its call. */
  handOut(calls: readonly Call[] = [], outcomes: readonly Outcome[] = []): HandedOut[] {
    const accepted = new Map(calls.map(([name], call) => [name === "accept" && outcomes[call]?.value, call]));
    const handedOut: HandedOut[] = [];
    let bytes = 0;
    for (const { position, attempts } of this.#store.lanes.take(this.#store.nowMs())) {
      const call = accepted.get(position);
      if (call !== undefined) handedOut.push({ position, attempts, call });
      else {
        const delivery = this.#store.read(position);
        handedOut.push({ position, attempts, delivery });
        bytes += delivery.body.byteLength;
      }
      if (bytes > HAND_OUT_BYTES) break;
    }
    this.#nextMs = this.#store.lanes.nextMs();
    return handedOut;
  }

  /** How long until there is something to hand out if nothing happens until then, in milliseconds. Infinity if never. */
  pauseMs(): number {
    return Math.max(0, this.#nextMs - this.#store.nowMs());
  }

  close(): void {
    this.#volume.close();
    this.#store.close();
  }

  /**
   * Commits all of them together. If that fails, each one is tried alone: a delivery that does not fit holds back neither
   * those that do nor the rows to be deleted, which make room. One that fails alone is tried once more.
   */
  #commit(jobs: readonly Job[], isLast = false): void {
    if (jobs.length === 0) return;
    try {
      this.#store.write(() => {
        for (const job of jobs) this.#perform(job);
      });
      for (const job of jobs) delete job.error;
      this.#volume.tidyLater();
    } catch (cause) {
      const error = toSqliteError(cause);
      fail(jobs, error);
      this.#volume.noteFailure(error);
      // Waiting for another process takes long, so do not repeat it for each call.
      if (isLast || error.code === "busy") return;
      if (jobs.length > 1) for (const job of jobs) this.#commit([job]);
      else {
        if (error.code === "full") this.#volume.makeRoom();
        this.#commit(jobs, true);
      }
    }
  }

  #perform(job: Job): void {
    const [name, ...parameters] = job.call;
    job.value = (this.#store[name] as (...given: readonly unknown[]) => unknown).apply(
      this.#store,
      parameters,
    );
  }
}

function fail(jobs: readonly Job[], { code, message }: SqliteError): void {
  for (const job of jobs) job.error = { code, message };
}
