/** The time that one operation may take by default, including all its retries, in seconds. */
export const DEFAULT_REQUEST_SECONDS = 30;

/** The first and the longest pause between the attempts of a call, in milliseconds. */
const CALL_BACK_OFF = { firstMs: 250, longestMs: 8_000 };

/** The maximum Retry-After, a day in milliseconds: a larger one could overflow a timer or a date. */
export const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

/** The minimum time that a retry needs, in milliseconds. With less, its timeout would hide the previous failure. */
export const MIN_ATTEMPT_MS = 50;

/** Converts a Retry-After header, in seconds or a date, to milliseconds: 0 to {@link MAX_RETRY_AFTER_MS}. */
export function parseRetryAfter(value: string | null | undefined, now = Date.now()): number | undefined {
  const text = value?.trim() ?? "";
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS);
}

/** The pause after this many attempts: exponential, with jitter, so that clients do not all retry together. */
export function backOffMs(
  attempts: number,
  { firstMs, longestMs } = CALL_BACK_OFF,
  random = Math.random,
): number {
  const ceiling = Math.min(longestMs, firstMs * 2 ** (attempts - 1));
  return Math.ceil(ceiling * (0.5 + random() / 2));
}

/** A failed attempt that will be retried. */
export interface Retry {
  /** The attempt's number, from 1. */
  attempt: number;
  /** The pause before the next attempt, in milliseconds. */
  delayMs: number;
  /** Why it failed. */
  error: unknown;
}
