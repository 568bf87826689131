import { setTimeout } from "node:timers/promises";

export const NEVER: AbortSignal = new AbortController().signal;

/** The longest delay that a timer accepts, in milliseconds. A timer with a longer delay fires immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Returns a signal that fires when any of these does. For one or none, avoids `AbortSignal.any`, which is slow. */
export function anySignal(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length > 1 ? AbortSignal.any(given) : (given[0] ?? NEVER);
}

/** Settles like `work`, or rejects with the signal's reason as soon as the signal fires. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const giveUp = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/** Waits at most {@link MAX_TIMER_MS}. If the signal fires first, rejects with its reason. */
export async function sleep(ms: number, signal: AbortSignal = NEVER): Promise<void> {
  // The signal's reason replaces the timer's own error.
  await setTimeout(Math.min(ms, MAX_TIMER_MS), undefined, { signal }).catch(() => signal.throwIfAborted());
}
