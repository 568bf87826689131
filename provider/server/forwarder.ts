import type { Dispatcher } from "undici";
import { sleep } from "../lib/abort.js";
import { entriesInSlices } from "../lib/in-slices.js";
import { KeyedQueue } from "../lib/keyed-queue.js";
import {
  createDispatcher,
  postOnce,
  type ResponseHead,
  type PostError,
  type PostOptions,
} from "../lib/post.js";
import { backOffMs } from "../lib/retry.js";
import {
  DELIVERY_ID_HEADER,
  endToEndHeaders,
  judgeForward,
  type ForwardVerdict,
} from "../responder/index.js";
import type { ServerConfig, WorkspaceConfig } from "./config.js";
import { messageOfError, type Log } from "./log.js";
import type { Metrics } from "./metrics.js";
import type { AcceptedDelivery, HeaderPair } from "./spool/database.js";
import type { DeadLetterChoice, Spool, TakenDelivery } from "./spool/spool.js";

const DEFAULTS = {
  /** Of one attempt. */
  attemptTimeoutMs: 30_000,
  /** Between the attempts of one delivery. */
  backOff: { firstMs: 1_000, longestMs: 300_000 },
  /** How many deliveries are in progress at once. One workspace never fills more than half. */
  limits: { perWorkspace: 32, total: 256 },
  /** How long `close` waits for attempts in progress. */
  closeTimeoutMs: 5_000,
};

export interface ForwarderOptions extends Partial<typeof DEFAULTS> {
  spool: Spool;
  log: Log;
  /** Counts the attempts. */
  metrics?: Pick<Metrics, "attempted"> | undefined;
}

/** What the configuration says of forwarding. Deliveries of a workspace without a URL are kept. */
export interface ForwardPlan extends Pick<ServerConfig, "forwardWithinSeconds"> {
  workspaces: Record<string, Pick<WorkspaceConfig, "forwardTo">>;
}

const DAY_SECONDS = 86_400;

/** The pause after an error of the spool, in milliseconds. */
const SPOOL_PAUSE_MS = 1_000;

/** Looks for due deliveries at least this often, in milliseconds. */
const CHECK_EVERY_MS = 60 * 60 * 1000;

/** A workspace with deliveries to forward, or one that had some. */
interface Lane {
  workspace: string;
  /** The URL of the next attempt. */
  target: string;
  /** The number of attempts in progress. */
  attempts: number;
  /** Whether its last attempt timed out. */
  isHanging: boolean;
}

/**
 * Forwards the deliveries in the spool, present and future: in order of acceptance within a conversation, with
 * conversations in parallel. Failed attempts are retried with growing pauses; rejected or expired deliveries become dead
 * letters. Starts with its first plan. What is due, and when, is the spool's to say; this limits how much is in progress.
 */
export class Forwarder {
  readonly #spool: Spool;
  readonly #log: Log;
  readonly #metrics: ForwarderOptions["metrics"];
  readonly #settings: typeof DEFAULTS;
  readonly #dispatcher: Dispatcher;
  readonly #lanes = new Map<string, Lane>();
  /** The URLs by workspace. Deliveries of the others are kept; attempts in progress continue. */
  #targets: ReadonlyMap<string, string> = new Map();
  readonly #attempts = new Set<Promise<unknown>>();
  readonly #abandoning = new AbortController();
  #maxAgeMs = 0;
  /** Plans and retries. */
  readonly #changes = new KeyedQueue();
  #looksSoon = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;

  constructor({ spool, log, metrics, ...settings }: ForwarderOptions) {
    this.#spool = spool;
    this.#log = log;
    this.#metrics = metrics;
    this.#settings = { ...DEFAULTS, ...settings };
    // HTTP/1.1 only: it keeps the headers as they came.
    this.#dispatcher = createDispatcher({ connections: this.#settings.limits.total, allowH2: false });
    spool.onAccepted = () => this.#lookSoon();
  }

  /**
   * Forwards by this plan from now on; attempts in progress end as they began. The age of the deliveries that a workspace
   * has kept counts from when it gets a target. A changed target is tried at once.
   */
  follow({ workspaces, forwardWithinSeconds = DAY_SECONDS }: ForwardPlan): void {
    void this.#changes.run("plan", async () => {
      const previous = this.#targets;
      const [targets, unchanged] = [new Map<string, string>(), new Map<string, string>()];
      for await (const [workspace, { forwardTo }] of entriesInSlices(workspaces)) {
        if (forwardTo === undefined) continue;
        targets.set(workspace, forwardTo);
        if (previous.get(workspace) === forwardTo) unchanged.set(workspace, forwardTo);
      }
      this.#maxAgeMs = forwardWithinSeconds * 1000;
      const moved = [...this.#lanes.keys()].filter((name) => previous.get(name) !== targets.get(name));
      // No attempt begins at a previous target any more.
      this.#targets = unchanged;
      // Before any attempt begins, because the age of its delivery depends on it.
      await this.#persist(() => this.#spool.setForwarded([...targets.keys()]));
      // What has waited, and nothing that the new target is given: that would have one attempt more.
      await this.#persist(() => this.#spool.retry(moved));
      this.#targets = targets;
      this.#lookSoon();
    });
  }

  /** Ends the pauses of these workspaces or of all. Resolves with the number of conversations that waited. */
  retry(workspaces?: readonly string[]): Promise<number> {
    return this.#change(() => this.#spool.retry(workspaces));
  }

  /** Forwards dead letters again. Resolves with their number. */
  replay(choice: DeadLetterChoice): Promise<number> {
    return this.#change(() => this.#spool.replay(choice));
  }

  /** Makes a change at most once: a caller waits for its result. */
  async #change(write: () => Promise<number>): Promise<number> {
    const count = await this.#changes.run("plan", write);
    this.#lookSoon();
    return count;
  }

  /**
   * Starts no new attempts. Resolves when those in progress have ended, or were given up because they took too long and
   * stay in the spool. The spool can be closed after that.
   */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    const timer = setTimeout(() => this.#abandoning.abort(), this.#settings.closeTimeoutMs);
    await this.#changes.idle();
    await Promise.all(this.#attempts);
    clearTimeout(timer);
    this.#abandoning.abort();
    await this.#dispatcher.destroy();
  }

  /** Repeats a write to the spool until it succeeds, or the forwarder gives up: it may fail while the disk is full. */
  async #persist(write: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#abandoning;
    for (;;) {
      try {
        await write();
        return this.#lookSoon();
      } catch (error) {
        this.#logSpoolFailure(error);
      }
      if (signal.aborted) return;
      await sleep(SPOOL_PAUSE_MS, signal).catch(() => undefined);
    }
  }

  #laneOf(workspace: string, target: string): Lane {
    const lane = this.#lanes.get(workspace) ?? { workspace, target, attempts: 0, isHanging: false };
    lane.target = target;
    this.#lanes.set(workspace, lane);
    return lane;
  }

  /** Looks once everything that is settled now has been noted: a turn of the event loop would be lost otherwise. */
  #lookSoon(): void {
    if (this.#looksSoon) return;
    this.#looksSoon = true;
    process.nextTick(() => this.#beginDue());
  }

  #beginDue(): void {
    this.#looksSoon = false;
    if (this.#isClosing) return;
    const nowMs = this.#spool.nowMs();
    let nextMs = Infinity;
    try {
      const due: Lane[] = [];
      for (const workspace of this.#spool.waiting()) {
        const target = this.#targets.get(workspace);
        if (target === undefined) continue;
        const lane = this.#laneOf(workspace, target);
        if (this.#roomOf(lane) === 0) continue;
        const dueMs = this.#spool.dueMs(workspace);
        if (dueMs <= nowMs) due.push(lane);
        else nextMs = Math.min(nextMs, dueMs);
      }
      // Those with the fewest attempts in progress first.
      for (const lane of due.toSorted((one, other) => one.attempts - other.attempts)) {
        for (const delivery of this.#spool.take(lane.workspace, this.#roomOf(lane)))
          this.#begin(lane, delivery);
        if (this.#roomOf(lane) > 0) nextMs = Math.min(nextMs, this.#spool.dueMs(lane.workspace));
      }
    } catch (error) {
      this.#logSpoolFailure(error);
      nextMs = nowMs + SPOOL_PAUSE_MS;
    }
    clearTimeout(this.#timer);
    if (nextMs === Infinity) return;
    const delayMs = Math.min(Math.max(nextMs - nowMs, 1), CHECK_EVERY_MS);
    this.#timer = setTimeout(() => this.#beginDue(), delayMs);
  }

  /**
   * How many attempts a workspace may begin: at most as many as it leaves free, so that a few hanging targets never use all.
   * A workspace whose last attempt timed out has one attempt at a time. All such workspaces together use at most half
   * of all attempts.
   */
  #roomOf({ attempts, isHanging }: Lane): number {
    const { perWorkspace, total } = this.#settings.limits;
    const free = total - this.#attempts.size;
    const room = isHanging
      ? Math.min(1, free - Math.floor(total / 2)) - attempts
      : Math.min(perWorkspace - attempts, Math.ceil((free - attempts) / 2));
    return Math.max(0, room);
  }

  #begin(lane: Lane, delivery: TakenDelivery): void {
    lane.attempts++;
    const attempt = this.#attempt(delivery, new URL(lane.target))
      .then(({ timedOut = false }) => (lane.isHanging = timedOut))
      .finally(() => {
        this.#attempts.delete(attempt);
        lane.attempts--;
        this.#lookSoon();
      });
    this.#attempts.add(attempt);
  }

  /**
   * Forwards a delivery once and records the outcome in the spool. Resolves when that is committed, or when the forwarder
   * gives up: an unrecorded delivery is forwarded again after the next start. Never rejects.
   */
  async #attempt(delivery: TakenDelivery, url: URL): Promise<ForwardOutcome> {
    const { signal } = this.#abandoning;
    const timeoutMs = this.#settings.attemptTimeoutMs;
    const startMs = performance.now();
    const outcome = await forwardRequest(delivery, { url, dispatcher: this.#dispatcher, timeoutMs, signal });
    this.#metrics?.attempted(delivery.workspace, outcome.kind, performance.now() - startMs);
    // Until then it stays taken: it is not sent a second time.
    await this.#persist(() => this.#record(outcome, delivery));
    return outcome;
  }

  async #record(outcome: ForwardOutcome, delivery: TakenDelivery): Promise<void> {
    if (outcome.kind === "abandoned") return this.#spool.release(delivery);
    if (outcome.kind === "done") return this.#spool.complete(delivery);
    const { reason: failure } = outcome;
    const { workspace, id } = delivery;
    const attempts = delivery.attempts + 1;
    const fields = { workspace, id, failure, attempts };
    const kind = `${workspace} ${failure}`;
    if (outcome.kind === "retry") {
      // Never less than the back-off: "Retry-After: 0" would make a loop without pause.
      const pauseMs = Math.max(outcome.retryAfterSeconds * 1000, backOffMs(attempts, this.#settings.backOff));
      if (await this.#spool.reschedule(delivery, { failure, pauseMs, maxAgeMs: this.#maxAgeMs })) {
        this.#log.limited("warn", "not forwarded", kind, fields);
        return;
      }
    }
    await this.#spool.bury(delivery, failure);
    this.#log.limited("error", "dead letter", kind, fields);
  }

  #logSpoolFailure(error: unknown): void {
    const message = messageOfError(error);
    this.#log.limited("error", "spool failed", message, { error: message });
  }
}

/** What came of one attempt. `abandoned`: the signal fired before a response. */
export type ForwardOutcome = ((ForwardVerdict & { reason: string }) | { kind: "abandoned" }) & {
  /** The time was over before the end of the response. */
  timedOut?: true;
};

export interface ForwardRequestOptions extends Pick<PostOptions, "dispatcher" | "timeoutMs" | "signal"> {
  url: URL;
}

/** The headers of a forwarded delivery: its end-to-end headers as they came, and `x-apichat-delivery-id`. */
export const headersToForward = ({ id, headers }: Pick<AcceptedDelivery, "id" | "headers">): HeaderPair[] => [
  ...endToEndHeaders(headers),
  [DELIVERY_ID_HEADER, id],
];

/** The body of a response is not used. A longer one costs its connection. */
const RESPONSE_LIMIT_BYTES = 64 * 1024;

/**
 * Posts a delivery once: the body byte for byte, the end-to-end headers as they came, and `x-apichat-delivery-id`. A
 * redirect is not followed. A status counts even if the body of the response never ends. Never rejects.
 */
export async function forwardRequest(
  { id, headers, body }: Pick<AcceptedDelivery, "id" | "headers" | "body">,
  { url, ...options }: ForwardRequestOptions,
): Promise<ForwardOutcome> {
  try {
    const pairs = headersToForward({ id, headers });
    return judgeAnswer(
      await postOnce(url, { headers: pairs.flat(), body, limitBytes: RESPONSE_LIMIT_BYTES, ...options }),
    );
  } catch (error) {
    const { head, failure, message } = error as PostError;
    const time = failure === "timeout" ? { timedOut: true as const } : {};
    if (head !== undefined) return { ...judgeAnswer(head), ...time };
    if (failure === "aborted") return { kind: "abandoned" };
    return { kind: "retry", reason: message, retryAfterSeconds: 0, ...time };
  }
}

function judgeAnswer({ status, headers }: ResponseHead): ForwardOutcome {
  const redirects = status >= 300 && status < 400 ? ", a redirect, which is not followed" : "";
  return { ...judgeForward(status, headers["retry-after"]), reason: `HTTP ${status}${redirects}` };
}
