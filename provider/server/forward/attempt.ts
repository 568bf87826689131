import type { Dispatcher } from "undici";
import { sleep } from "../../lib/abort.js";
import { backOffMs, type BackOffRange } from "../../lib/retry.js";
import { type Log, messageOf } from "../log.js";
import { type AnswerHead, post, type PostError } from "../../lib/post.js";
import {
  DELIVERY_ID_HEADER,
  endToEndHeaders,
  judgeForward,
  type ForwardVerdict,
} from "../../responder/forwarding.js";
import type { AcceptedDelivery } from "../spool/database.js";
import type { Spool, TakenDelivery } from "../spool/spool.js";

/** The pause after an error of the spool, in milliseconds. */
export const SPOOL_PAUSE_MS = 1_000;

export interface AttemptOptions extends ForwardRequestOptions {
  spool: Spool;
  log: Log;
  backOff: BackOffRange;
  /** How long a delivery is tried. */
  maxAgeMs: number;
}

/**
 * Forwards a delivery once and records the outcome in the spool. Resolves when that is committed or when the signal has
 * fired; an unrecorded delivery is forwarded again after the next start. Never rejects.
 */
export async function attemptForward(
  delivery: TakenDelivery,
  options: AttemptOptions,
): Promise<ForwardOutcome> {
  const outcome = await forwardRequest(delivery, options);
  // Its deletion may fail while the disk is full. Until then it stays taken: it is not sent a second time.
  for (;;) {
    try {
      await note(outcome, delivery, options);
      return outcome;
    } catch (error) {
      logSpoolFailure(options.log, error);
    }
    if (options.signal.aborted) return outcome;
    await sleep(SPOOL_PAUSE_MS, options.signal).catch(() => undefined);
  }
}

export function logSpoolFailure(log: Log, error: unknown): void {
  const message = messageOf(error);
  log.limited("error", "spool failed", message, { error: message });
}

async function note(
  outcome: ForwardOutcome,
  delivery: TakenDelivery,
  { spool, log, backOff, maxAgeMs }: AttemptOptions,
): Promise<void> {
  if (outcome.kind === "abandoned") return spool.release(delivery);
  if (outcome.kind === "done") return spool.complete(delivery);
  const { reason: failure } = outcome;
  const { workspace, id } = delivery;
  const attempts = delivery.attempts + 1;
  const fields = { workspace, id, failure, attempts };
  const kind = `${workspace} ${failure}`;
  if (outcome.kind === "retry") {
    // Never less than the back-off: "Retry-After: 0" would make a loop without pause.
    const pauseMs = Math.max(outcome.retryAfterSeconds * 1000, backOffMs(attempts, backOff));
    if (await spool.reschedule(delivery, { failure, pauseMs, maxAgeMs })) {
      log.limited("warn", "not forwarded", kind, fields);
      return;
    }
  }
  await spool.bury(delivery, failure);
  log.limited("error", "dead letter", kind, fields);
}

/** What came of one attempt. `abandoned`: the signal fired before a response. */
export type ForwardOutcome = ((ForwardVerdict & { reason: string }) | { kind: "abandoned" }) & {
  /** The time was over before the end of the response. */
  timedOut?: true;
};

export interface ForwardRequestOptions {
  url: URL;
  dispatcher: Dispatcher;
  /** For the whole attempt, including the connection and the body of the response. */
  timeoutMs: number;
  /** Ends the attempt at once. */
  signal: AbortSignal;
}

/** The body of a response is not used. A longer one costs its connection. */
const ANSWER_LIMIT_BYTES = 64 * 1024;

/**
 * Posts a delivery once: the body byte for byte, the end-to-end headers as they came, and `x-apichat-delivery-id`. A
 * redirect is not followed. A status counts even if the body of the response never ends. Never rejects.
 */
export async function forwardRequest(
  { id, headers, body }: Pick<AcceptedDelivery, "id" | "headers" | "body">,
  { url, ...options }: ForwardRequestOptions,
): Promise<ForwardOutcome> {
  try {
    const pairs = [...endToEndHeaders(headers), [DELIVERY_ID_HEADER, id]];
    return judgeAnswer(
      await post(url, { headers: pairs.flat(), body, limitBytes: ANSWER_LIMIT_BYTES, ...options }),
    );
  } catch (error) {
    const { head, failure, message } = error as PostError;
    const time = failure === "timeout" ? { timedOut: true as const } : {};
    if (head !== undefined) return { ...judgeAnswer(head), ...time };
    if (failure === "aborted") return { kind: "abandoned" };
    return { kind: "retry", reason: message, retryAfterSeconds: 0, ...time };
  }
}

function judgeAnswer({ status, headers }: AnswerHead): ForwardOutcome {
  const redirects = status >= 300 && status < 400 ? ", a redirect, which is not followed" : "";
  return { ...judgeForward(status, headers["retry-after"]), reason: `HTTP ${status}${redirects}` };
}
