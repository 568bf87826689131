import { setTimeout as sleep } from "node:timers/promises";
import { backOffMs, type BackOffRange } from "../lib/retry.js";
import type { ForwardNotes } from "./forward-notes.js";
import type { ForwardableDelivery, ForwardQueue } from "./forward-queue.js";
import { forwardRequest, type ForwardOutcome, type ForwardRequestOptions } from "./forward-request.js";

/** The pause after an error of the spool, in milliseconds. */
export const SPOOL_PAUSE_MS = 1_000;

export interface AttemptOptions extends ForwardRequestOptions {
  queue: ForwardQueue;
  notes: ForwardNotes;
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
  // Its deletion may fail while the disk is full. Until then it counts as under way: it is not sent a second time.
  for (;;) {
    try {
      await note(outcome, delivery, options);
      return;
    } catch (error) {
      options.notes.spoolFailed(error);
    }
    if (options.signal.aborted) return;
    await pause(SPOOL_PAUSE_MS, options.signal);
  }
}

async function note(
  outcome: ForwardOutcome,
  delivery: ForwardableDelivery,
  { queue, notes, backOff, maxAgeMs }: AttemptOptions,
): Promise<void> {
  if (outcome.kind === "abandoned") return;
  if (outcome.kind === "delivered") {
    await queue.complete(delivery);
    return;
  }
  const { failure } = outcome;
  const nowMs = Date.now();
  const untilMs = delivery.ageFromMs + maxAgeMs;
  if (outcome.kind === "refused" || nowMs >= untilMs) {
    await queue.bury(delivery, failure);
    notes.deadLetter(delivery, failure);
    return;
  }
  // Never less than the back-off: "Retry-After: 0" would make a loop without pause.
  const pauseMs = Math.max(outcome.retryAfterMs, backOffMs(delivery.attempts + 1, backOff));
  // The last attempt is made when the time is up.
  await queue.reschedule(delivery, { failure, dueMs: Math.min(nowMs + pauseMs, untilMs) });
  notes.notForwarded(delivery, failure);
}

/** Ends early, and without an error, when the signal fires. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);
