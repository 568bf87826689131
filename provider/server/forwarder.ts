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
import type { Spool, TakenDelivery } from "./spool/spool.js";

const DEFAULTS = {
  /** The time limit of one attempt. */
  attemptTimeoutMs: 30_000,
  /** The pauses between the attempts of one delivery. */
  backOff: { firstMs: 1_000, longestMs: 300_000 },
  /** How long `close` waits for attempts in progress. */
  closeTimeoutMs: 5_000,
};

export interface ForwarderOptions extends Partial<typeof DEFAULTS> {
  spool: Spool;
  log: Log;
  metrics?: Pick<Metrics, "attempted"> | undefined;
}

/** The part of the configuration that concerns forwarding. Deliveries of workspaces without `forwardTo` are kept. */
export interface ForwardPlan extends Pick<ServerConfig, "forwardWithinSeconds"> {
  workspaces: Record<string, Pick<WorkspaceConfig, "forwardTo">>;
}

const DAY_SECONDS = 86_400;

/** The pause after an error of the spool, in milliseconds. */
const SPOOL_PAUSE_MS = 1_000;

/**
 * Forwards the present and future deliveries in the spool: those of one conversation in order of acceptance,
 * different conversations in parallel. Failed attempts are retried with growing pauses; rejected or expired
 * deliveries become dead letters. Forwards nothing until it has a plan. The spool decides what is due.
 */
export class Forwarder {
  readonly #spool: Spool;
  readonly #log: Log;
  readonly #metrics: ForwarderOptions["metrics"];
  readonly #settings: typeof DEFAULTS;
  readonly #dispatcher: Dispatcher;
  /** The target URL of each workspace. Without one, deliveries are kept, but attempts in progress continue. */
  #targets: ReadonlyMap<string, string> = new Map();
  /** The attempts in progress, by the IDs of their deliveries. */
  readonly #attempts = new Map<string, Promise<unknown>>();
  readonly #abandoning = new AbortController();
  #maxAgeMs = 0;
  readonly #plans = new KeyedQueue();
  #isClosing = false;

  constructor({ spool, log, metrics, ...settings }: ForwarderOptions) {
    this.#spool = spool;
    this.#log = log;
    this.#metrics = metrics;
    this.#settings = { ...DEFAULTS, ...settings };
    // HTTP/1.1 only, because HTTP/2 cannot keep the case of the received header names.
    this.#dispatcher = createDispatcher({ connections: spool.limits.total, allowH2: false });
    spool.onDue = (delivery) => this.#begin(delivery);
    spool.onUnreadable = (error) => this.#logSpoolFailure(error);
  }

  /**
   * Follows this plan from now on; attempts in progress finish with the previous plan. When a workspace
   * gets a target, the age of the deliveries kept for it starts at 0. A changed target is tried immediately.
   */
  follow({ workspaces, forwardWithinSeconds = DAY_SECONDS }: ForwardPlan): void {
    void this.#plans.run("plan", async () => {
      const targets = new Map<string, string>();
      for await (const [workspace, { forwardTo }] of entriesInSlices(workspaces))
        if (forwardTo !== undefined) targets.set(workspace, forwardTo);
      const moved = [...this.#targets.keys()].filter((name) => targets.get(name) !== this.#targets.get(name));
      this.#maxAgeMs = forwardWithinSeconds * 1000;
      this.#targets = targets;
      await this.#persist(() => this.#spool.ask("forward", [...targets.keys()], moved));
    });
  }

  /** Whether a delivery with this ID is being sent. If one arrives here, this responder is sending to itself. */
  isSending(id: string): boolean {
    return this.#attempts.has(id);
  }

  /** Resolves when no attempt is in progress. Deliveries whose attempts are aborted stay in the spool. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const timer = setTimeout(() => this.#abandoning.abort(), this.#settings.closeTimeoutMs);
    await this.#plans.idle();
    await Promise.all(this.#attempts.values());
    clearTimeout(timer);
    this.#abandoning.abort();
    await this.#dispatcher.destroy();
  }

  /** Repeats a write, which may fail while the disk is full, until it succeeds or the forwarder gives up. */
  async #persist(write: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#abandoning;
    for (;;) {
      try {
        await write();
        return;
      } catch (error) {
        this.#logSpoolFailure(error);
      }
      if (signal.aborted) return;
      await sleep(SPOOL_PAUSE_MS, signal).catch(() => undefined);
    }
  }

  #begin(delivery: TakenDelivery): void {
    // Begin nothing more: the delivery stays in the spool for the next start.
    if (this.#isClosing) return;
    const target = this.#targets.get(delivery.workspace);
    if (target === undefined) return void this.#persist(() => this.#spool.ask("release", delivery.position));
    const attempt = this.#attempt(delivery, target).finally(() => this.#attempts.delete(delivery.id));
    this.#attempts.set(delivery.id, attempt);
  }

  /**
   * Forwards a delivery once and records the outcome in the spool. Resolves when the outcome is committed, or when
   * the forwarder gives up recording it: the next start then forwards the delivery again. Never rejects.
   */
  async #attempt(delivery: TakenDelivery, target: string): Promise<void> {
    const { signal } = this.#abandoning;
    const options = { dispatcher: this.#dispatcher, timeoutMs: this.#settings.attemptTimeoutMs, signal };
    const startMs = performance.now();
    const outcome = await forwardRequest(delivery, { url: new URL(target), ...options });
    this.#metrics?.attempted(delivery.workspace, outcome.kind, performance.now() - startMs);
    // Until the outcome is recorded, the delivery stays taken, so that it is not sent twice.
    await this.#persist(() => this.#record(outcome, delivery, target));
  }

  async #record(outcome: ForwardOutcome, delivery: TakenDelivery, target: string): Promise<void> {
    if (outcome.kind === "abandoned") return;
    const { position, workspace, id } = delivery;
    if (outcome.kind === "done") return this.#spool.ask("complete", position, outcome.timedOut);
    const { reason: failure, timedOut } = outcome;
    const attempts = delivery.attempts + 1;
    const attempt = { failure, pauseMs: 0, maxAgeMs: 0 };
    if (outcome.kind === "retry") {
      const hasMoved = this.#targets.get(workspace) !== target;
      // At least the back-off, because "Retry-After: 0" alone would cause a loop without pauses.
      const backOff = Math.max(outcome.retryAfterSeconds * 1000, backOffMs(attempts, this.#settings.backOff));
      attempt.pauseMs = hasMoved ? 0 : backOff;
      attempt.maxAgeMs = this.#maxAgeMs;
    }
    const isDead = await this.#spool.ask("fail", position, attempt, timedOut);
    const [level, event] = isDead
      ? (["error", "dead letter"] as const)
      : (["warn", "not forwarded"] as const);
    this.#log.limited(level, event, `${workspace} ${failure}`, { workspace, id, failure, attempts });
  }

  #logSpoolFailure(error: unknown): void {
    const message = messageOfError(error);
    this.#log.limited("error", "spool failed", message, { error: message });
  }
}

/** The outcome of one attempt. `abandoned`: the signal fired before a response arrived. */
export type ForwardOutcome = ((ForwardVerdict & { reason: string }) | { kind: "abandoned" }) & {
  /** The attempt timed out before the response was complete. */
  timedOut?: true;
};

export const headersToForward = ({ id, headers }: Pick<AcceptedDelivery, "id" | "headers">): HeaderPair[] => [
  ...endToEndHeaders(headers),
  [DELIVERY_ID_HEADER, id],
];

/** How many bytes of a response's body are read and discarded. If it is longer, the connection is closed. */
const RESPONSE_LIMIT_BYTES = 64 * 1024;

/** Does not follow a redirect. Uses the status even if the body of the response never ends. Never rejects. */
export async function forwardRequest(
  { id, headers, body }: Pick<AcceptedDelivery, "id" | "headers" | "body">,
  { url, ...options }: { url: URL } & Pick<PostOptions, "dispatcher" | "timeoutMs" | "signal">,
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
