import { NEVER, sleep } from "./abort.js";

/** The first and the longest pause of a back-off, in milliseconds. */
export interface BackOffRange {
  firstMs: number;
  longestMs: number;
}

const CALL_BACK_OFF: BackOffRange = { firstMs: 250, longestMs: 8_000 };

/** No Retry-After is read as more: a larger one would overflow a timer, or a date. In milliseconds: a day. */
export const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

/** Minimum time for an attempt: with less, a timeout would only hide the reason for the previous failure. */
const MIN_ATTEMPT_MS = 50;

/** Reads a Retry-After header, in seconds or as a date, as milliseconds from now: 0 to {@link MAX_RETRY_AFTER_MS}. */
export function parseRetryAfter(value: string | null | undefined, now = Date.now()): number | undefined {
  const text = value?.trim() ?? "";
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS);
}

/**
 * The pause after this many attempts: exponential, with jitter, so that many clients do not return at the same moment.
 */
export function backOffMs(
  attempts: number,
  { firstMs, longestMs }: BackOffRange = CALL_BACK_OFF,
  random = Math.random,
): number {
  const ceiling = Math.min(longestMs, firstMs * 2 ** (attempts - 1));
  return Math.ceil(ceiling * (0.5 + random() / 2));
}

/** The least of those pauses. */
export const shortestBackOffMs = (attempts: number): number => backOffMs(attempts, CALL_BACK_OFF, () => 0);

/** What one failed attempt means for the next: whether there is one, and how long the other side asked to wait. */
export interface RetryVerdict {
  retry: boolean;
  retryAfterMs?: number | undefined;
}

export interface Retry {
  /** The attempt that failed, from 1. */
  attempt: number;
  delayMs: number;
  error: unknown;
}

export interface RetryOptions {
  /** The time for all attempts and the pauses between them. */
  limitMs: number;
  /** Ends a pause at once; it rejects with the signal's reason. An attempt watches it itself. */
  signal?: AbortSignal;
  judge: (error: unknown) => RetryVerdict;
  /** Called before each pause. */
  onRetry?: ((retry: Retry) => void) | undefined;
}

/** The time of one operation. */
export class TimeBudget {
  #endMs: number;

  constructor(limitMs: number) {
    this.#endMs = performance.now() + limitMs;
  }

  get leftMs(): number {
    return Math.max(0, this.#endMs - performance.now());
  }

  /** Does work whose time does not count, such as waiting for others. */
  async uncounted<T>(work: () => Promise<T>): Promise<T> {
    const begun = performance.now();
    try {
      return await work();
    } finally {
      this.#endMs += performance.now() - begun;
    }
  }
}

/**
 * Retries `attempt` while `judge` allows it and time is left, then rethrows the last error unchanged. Does not start a
 * pause that would leave no time for another attempt.
 */
export async function withRetries<T>(
  attempt: (number: number, budget: TimeBudget) => Promise<T>,
  { limitMs, signal = NEVER, judge, onRetry }: RetryOptions,
): Promise<T> {
  const budget = new TimeBudget(limitMs);
  for (let number = 1; ; number += 1) {
    try {
      return await attempt(number, budget);
    } catch (error) {
      const { retry, retryAfterMs = 0 } = judge(error);
      // Never less than the back-off: "Retry-After: 0" would make a loop without pause.
      const delayMs = Math.max(retryAfterMs, backOffMs(number));
      if (!retry || signal.aborted || delayMs + MIN_ATTEMPT_MS > budget.leftMs) throw error;
      onRetry?.({ attempt: number, delayMs, error });
      await sleep(delayMs, signal);
    }
  }
}
