import { setTimeout as sleep } from "node:timers/promises";

/** Between which pauses a back-off grows, in milliseconds. */
export interface BackOffRange {
  firstMs: number;
  longestMs: number;
}

const CALL_BACK_OFF: BackOffRange = { firstMs: 250, longestMs: 8_000 };
/** An attempt with less time than this would only hide the reason of the last one behind a timeout. */
const LEAST_ATTEMPT_MS = 50;

/** What one failed attempt means for the next: whether there is one, and how long the other side asked to wait. */
export interface RetryVerdict {
  retry: boolean;
  retryAfterMs?: number;
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
  /** Ends everything at once. */
  signal: AbortSignal;
  judge: (error: unknown) => RetryVerdict;
  /** Called before each pause. */
  onRetry?: ((retry: Retry) => void) | undefined;
}

/** One operation's time: attempts and pauses count, waiting for a free place does not. */
export class TimeBudget {
  #leftMs: number;

  constructor(limitMs: number) {
    this.#leftMs = limitMs;
  }

  get leftMs(): number {
    return Math.max(0, this.#leftMs);
  }

  /** Runs `work` with a signal that fires when the budget is used up, and counts its time. */
  async spend<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const begun = performance.now();
    // By hand: AbortSignal.timeout and AbortSignal.any together take longer than the rest of a call.
    const ending = new AbortController();
    const endWithSignal = (): void => ending.abort(signal.reason);
    const timer = setTimeout(() => ending.abort(timedOut()), Math.max(1, Math.ceil(this.leftMs)));
    signal.addEventListener("abort", endWithSignal, { once: true });
    if (signal.aborted) endWithSignal();
    try {
      return await work(ending.signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", endWithSignal);
      this.#leftMs -= performance.now() - begun;
    }
  }
}

/** What `AbortSignal.timeout` gives as its reason. */
const timedOut = (): DOMException => new DOMException("the time limit has passed", "TimeoutError");

/** Exponential, with jitter, so that many clients do not come back at one moment. */
export function backOffMs(
  attempt: number,
  random = Math.random,
  { firstMs, longestMs } = CALL_BACK_OFF,
): number {
  const ceiling = Math.min(longestMs, firstMs * 2 ** (attempt - 1));
  return Math.ceil(ceiling * (0.5 + random() / 2));
}

/**
 * Repeats `attempt` while `judge` says that it may succeed and the time allows it; then throws the last error as it was.
 * A pause that would not leave time for another attempt is not begun.
 */
export async function withRetries<T>(
  attempt: (number: number, budget: TimeBudget) => Promise<T>,
  { limitMs, signal, judge, onRetry }: RetryOptions,
): Promise<T> {
  const budget = new TimeBudget(limitMs);
  for (let number = 1; ; number += 1) {
    try {
      return await attempt(number, budget);
    } catch (error) {
      const { retry, retryAfterMs } = judge(error);
      // Never less than the back-off: "Retry-After: 0" would make a loop without pause.
      const delayMs = Math.max(retryAfterMs ?? 0, backOffMs(number));
      if (!retry || signal.aborted || delayMs + LEAST_ATTEMPT_MS > budget.leftMs) throw error;
      onRetry?.({ attempt: number, delayMs, error });
      await budget.spend((spending) => sleep(delayMs, undefined, { signal: spending }), signal);
    }
  }
}
