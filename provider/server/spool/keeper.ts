import type { DatabaseSync } from "node:sqlite";
import { type SqliteError, toSqliteError } from "../../lib/sqlite.js";
import type { KeptDelivery } from "./database.js";
import { type AttemptLimits, Lanes } from "./lanes.js";
import { type DeadLetterChoice, type SpoolCounts, SpoolStore, type StoredDelivery } from "./store.js";
import { SpoolVolume } from "./volume.js";

/** A failed attempt: why, and how long to wait before the next one. */
export interface FailedAttempt {
  failure: string;
  pauseMs: number;
  /** How long a delivery is tried. */
  maxAgeMs: number;
}

/** Which deliveries may be forwarded. */
export interface HandOutOptions {
  limits: AttemptLimits;
  /** Workspaces of which none is. */
  except?: readonly string[];
}

/** How an attempt ended, beside its outcome. */
export interface AttemptEnd {
  /** The target did not respond in time. */
  timedOut?: boolean;
}

/** What the spool can do. */
interface Calls {
  accept(delivery: StoredDelivery, acceptedMs: number): number;
  check(): void;
  complete(position: number, end: AttemptEnd): void;
  reschedule(position: number, attempt: FailedAttempt, end: AttemptEnd): boolean;
  bury(position: number, failure: string, end: AttemptEnd): void;
  setForwarded(workspaces: readonly string[]): void;
  retry(positions: readonly number[]): number;
  replay(positions: readonly number[]): number;
  release(position: number): void;
  handOut(options: HandOutOptions): void;
  chooseWaiting(workspaces?: readonly string[]): number[];
  chooseDead(choice: DeadLetterChoice): number[];
  counts(): Map<string, SpoolCounts>;
}

export type CallName = keyof Calls;
export type ParametersOf<Name extends CallName> = Parameters<Calls[Name]>;
export type ResultOf<Name extends CallName> = ReturnType<Calls[Name]>;
export type Call = readonly [name: CallName, ...parameters: readonly unknown[]];

type Kind = "adds" | "frees" | "reads";

const KINDS: Record<CallName, Kind> = {
  accept: "adds",
  check: "adds",
  complete: "frees",
  reschedule: "frees",
  bury: "frees",
  setForwarded: "frees",
  retry: "frees",
  replay: "frees",
  release: "reads",
  handOut: "reads",
  chooseWaiting: "reads",
  chooseDead: "reads",
  counts: "reads",
};

const kindOf = ({ call: [name] }: Job): Kind => KINDS[name];

/** What came of a call. */
export interface Outcome {
  value?: unknown;
  error?: Pick<SqliteError, "code" | "message">;
}

/** A delivery to forward now. */
export interface HandedOut {
  position: number;
  attempts: number;
  /** It was accepted by this call of the batch. */
  call?: number;
  /** Missing if it was. */
  delivery?: KeptDelivery;
}

interface Job extends Outcome {
  call: Call;
}

/** Bytes of deliveries that are read at a time. What is due beyond that follows at once. */
const HAND_OUT_BYTES = 8 * 1024 * 1024;

/** Larger than most deliveries. */
const CHECKED: StoredDelivery = {
  id: "",
  workspace: "",
  conversation: undefined,
  headers: "[]",
  body: new Uint8Array(32 * 1024),
};

/**
 * Keeps the spool's file: carries out calls, a batch in one transaction, and decides what to forward. Blocks its thread
 * while the disk works.
 */
export class SpoolKeeper {
  readonly #store: SpoolStore;
  readonly #volume: SpoolVolume;
  readonly #lanes: Lanes;
  /** The forwarded workspaces in the file, once they have been read. */
  #forwarded: ReadonlySet<string> | undefined;
  /** What follows from the calls of a transaction once that is committed. */
  readonly #effects: (() => void)[] = [];
  /** When to hand out again, in running time. */
  #nextMs = Infinity;

  constructor(database: DatabaseSync, tidyAfterMs: number) {
    this.#store = new SpoolStore(database);
    this.#lanes = new Lanes(this.#store);
    this.#volume = new SpoolVolume(database, tidyAfterMs);
    this.#volume.tidy();
  }

  /**
   * Carries out calls, of which those that add write this many bytes. What they change is on the disk when this returns. A
   * call fails alone, and then changes nothing.
   */
  run(calls: readonly Call[], bytes: number): { outcomes: Outcome[]; handedOut: HandedOut[] } {
    const jobs = calls.map((call): Job => ({ call }));
    const { adds = [], frees = [], reads = [] } = Object.groupBy(jobs, kindOf);
    const refusal = adds.length > 0 ? this.#volume.findRefusal(bytes) : undefined;
    this.#commit(refusal === undefined ? [...frees, ...adds] : frees);
    for (const job of reads) this.#settle([job], () => void (job.value = this.#perform(job.call)));
    const failure = refusal ?? (adds.length > 0 ? this.#volume.findFailure() : undefined);
    if (failure !== undefined) for (const job of adds) job.error = toFailure(failure);
    const handedOut = this.handOut(jobs);
    return { outcomes: jobs.map(({ value, error }) => (error ? { error } : { value })), handedOut };
  }

  /** Returns what is to be forwarded now. */
  handOut(jobs: readonly Job[] = []): HandedOut[] {
    const accepted = new Map(jobs.map(({ call: [name], value }, index) => [name === "accept" && value, index]));
    const handedOut: HandedOut[] = [];
    let bytes = 0;
    for (const { position, attempts } of this.#lanes.take(this.#store.nowMs())) {
      const call = accepted.get(position);
      if (call !== undefined && !jobs[call]?.error) handedOut.push({ position, attempts, call });
      else {
        const delivery = this.#store.read(position);
        handedOut.push({ position, attempts, delivery });
        bytes += delivery.body.byteLength;
      }
      if (bytes > HAND_OUT_BYTES) break;
    }
    this.#nextMs = this.#lanes.nextMs();
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
    const error = this.#settle(jobs, () =>
      this.#store.write(() => {
        for (const job of jobs) job.value = this.#perform(job.call);
      }),
    );
    if (error === undefined) this.#volume.tidyLater();
    // Waiting for another process takes long, so do not repeat it for each call.
    if (error === undefined || isLast || error.code === "busy") return;
    this.#volume.noteFailure(error);
    if (jobs.length > 1) for (const job of jobs) this.#commit([job]);
    else {
      if (error.code === "full") this.#volume.makeRoom();
      this.#commit(jobs, true);
    }
  }

  /** Notes what came of jobs. Returns the error if they failed. */
  #settle(jobs: readonly Job[], work: () => void): SqliteError | undefined {
    let error: SqliteError | undefined;
    try {
      work();
    } catch (cause) {
      error = toSqliteError(cause);
    }
    const effects = this.#effects.splice(0);
    if (error === undefined) for (const effect of effects) effect();
    for (const job of jobs) {
      if (error === undefined) delete job.error;
      else job.error = toFailure(error);
    }
    return error;
  }

  #perform([name, ...parameters]: Call): unknown {
    return (this.#calls[name] as (...given: readonly unknown[]) => unknown)(...parameters);
  }

  readonly #calls: Calls = {
    accept: (delivery, acceptedMs) => {
      const position = this.#store.add(delivery, acceptedMs);
      this.#after(() => this.#lanes.wake(delivery.workspace));
      return position;
    },
    check: () => {
      const position = this.#store.add(CHECKED, 0);
      this.#store.remove({ ...CHECKED, conversation: null, position, ageFromMs: 0, attempts: 0 });
    },
    complete: (position, end) => {
      this.#store.remove(this.#lanes.taken(position));
      this.#endAttempt(position, end);
    },
    reschedule: (position, { failure, pauseMs, maxAgeMs }, end) => {
      const row = this.#lanes.taken(position);
      const [nowMs, endMs] = [this.#store.nowMs(), row.ageFromMs + maxAgeMs];
      if (nowMs >= endMs) return false;
      this.#store.reschedule(row, failure, Math.min(nowMs + pauseMs, endMs));
      this.#endAttempt(position, end);
      return true;
    },
    bury: (position, failure, end) => {
      this.#store.bury(this.#lanes.taken(position), failure);
      this.#endAttempt(position, end);
    },
    setForwarded: (workspaces) => {
      const [noted, next] = [this.#forwarded ?? new Set(this.#store.listForwarded()), new Set(workspaces)];
      const added = workspaces.filter((workspace) => !noted.has(workspace));
      const removed = [...noted].filter((workspace) => !next.has(workspace));
      // Only what has changed: writing 30,000 rows takes a while.
      this.#store.changeForwarded(added, removed);
      this.#after(() => {
        this.#forwarded = next;
        this.#lanes.follow(next);
        for (const workspace of this.#store.listWaiting()) this.#lanes.wake(workspace);
      });
    },
    retry: (positions) => this.#wakeEach(this.#store.retryEach(positions)),
    replay: (positions) => this.#wakeEach(this.#store.replayEach(positions)),
    release: (position) => this.#endAttempt(position, {}),
    handOut: ({ limits, except = [] }) => this.#lanes.limit(limits, except),
    chooseWaiting: (workspaces) => this.#store.chooseWaiting(workspaces),
    chooseDead: (choice) => this.#store.chooseDead(choice),
    counts: () => this.#store.counts(),
  };

  #after(effect: () => void): void {
    this.#effects.push(effect);
  }

  #endAttempt(position: number, { timedOut = false }: AttemptEnd): void {
    this.#after(() => this.#lanes.settle(position, timedOut));
  }

  #wakeEach(workspaces: readonly string[]): number {
    this.#after(() => {
      for (const workspace of workspaces) this.#lanes.wake(workspace);
    });
    return workspaces.length;
  }
}

const toFailure = ({ code, message }: SqliteError): Pick<SqliteError, "code" | "message"> => ({ code, message });
