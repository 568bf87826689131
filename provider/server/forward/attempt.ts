import { setTimeout as sleep } from "node:timers/promises";
import { backOffMs, type BackOffRange } from "../../lib/retry.js";
import { messageOf, type Log } from "../log.js";
import type { ForwardableDelivery, ForwardQueue } from "../spool/forward-queue.js";
import { forwardRequest, type ForwardOutcome, type ForwardRequestOptions } from "./request.js";

/** The pause after an error of the spool, in milliseconds. */
export const SPOOL_PAUSE_MS = 1_000;

export interface AttemptOptions extends ForwardRequestOptions {
  queue: ForwardQueue;
  log: Log;
  backOff: BackOffRange;
  /** How long a delivery is tried. */
  maxAgeMs: number;
}

/**
 * Forwards a delivery once, and notes in the spool what came of it. Resolves when that is committed, or when the signal has
 * fired: what is not noted then is forwarded again after the next start. Never rejects.
 */
export async function attemptForward(delivery: ForwardableDelivery, options: AttemptOptions): Promise<void> {
  const outcome = await forwardRequest(delivery, options);
  // Its deletion may fail while the disk is full. Until then it counts as in progress: it is not sent a second time.
  for (;;) {
    try {
      await note(outcome, delivery, options);
      return;
    } catch (error) {
      logSpoolFailure(options.log, error);
    }
    if (options.signal.aborted) return;
    await sleep(SPOOL_PAUSE_MS, undefined, { signal: options.signal }).catch(() => undefined);
  }
}

export function logSpoolFailure(log: Log, error: unknown): void {
  const message = messageOf(error);
  log.limited("error", "spool failed", message, { error: message });
}

async function note(
  outcome: ForwardOutcome,
  delivery: ForwardableDelivery,
  { queue, log, backOff, maxAgeMs }: AttemptOptions,
): Promise<void> {
  if (outcome.kind === "abandoned") return;
  if (outcome.kind === "delivered") {
    await queue.complete(delivery);
    return;
  }
  const { failure } = outcome;
  const { workspace, id } = delivery;
  const attempts = delivery.attempts + 1;
  const kind = `${workspace} ${failure}`;
  const nowMs = Date.now();
  const untilMs = delivery.ageFromMs + maxAgeMs;
  if (outcome.kind === "refused" || nowMs >= untilMs) {
    await queue.bury(delivery, failure);
    log.limited("error", "dead letter", kind, { workspace, id, failure, attempts });
    return;
  }
  // Never less than the back-off: "Retry-After: 0" would make a loop without pause.
  const pauseMs = Math.max(outcome.retryAfterMs, backOffMs(attempts, backOff));
  // The last attempt is made when the time is up.
  await queue.reschedule(delivery, { failure, dueMs: Math.min(nowMs + pauseMs, untilMs) });
  log.limited("warn", "not forwarded", kind, { workspace, id, failure, attempts });
}
