import pLimit, { type LimitFunction } from "p-limit";
import { ApiChatError, type ApiChatOperation, type Hint } from "../errors/index.js";
import { NEVER, orAborted, sleep } from "../lib/abort.js";
import { CALLS_PER_ORIGIN } from "../lib/post.js";
import { shortestBackOffMs, withRetries, type Retry, type RetryVerdict } from "../lib/retry.js";
import { AttemptError, type AttemptFailure } from "./attempt.js";

/** One call of a client, with all its attempts. */
export interface Operation<Result> {
  name: ApiChatOperation;
  origin: string;
  /** The address as its error shows it. */
  at: () => string;
  /** The time for all attempts and the pauses between them, in milliseconds. Waiting for a permit does not count. */
  limitMs: number;
  /** Ends the operation at once; it rejects with the signal's reason. */
  signal: AbortSignal;
  /** Called before each retry. If it resolves to a result, the operation ends with it instead of retrying. */
  beforeRepeat?: (() => Promise<{ result: Result } | undefined>) | undefined;
  /** Sends one attempt, within this many milliseconds. */
  send: (timeoutMs: number) => Promise<Result>;
  /** Whether a failed attempt is repeated. Default: as the failure says. */
  judge?: (failure: AttemptFailure) => RetryVerdict;
  onRetry: (retry: Retry) => void;
  /** What to do next, where the failure itself does not tell. */
  hintsFor: (failure: AttemptFailure) => Hint[];
}

/**
 * Runs an operation within its time limit: waits for a permit of the origin, sends, and retries failures that may be
 * temporary. Returns the result and the number of attempts. Rejects with an ApiChatError; errors that are not failures
 * of the service are rethrown unchanged.
 */
export async function runOperation<Result>(
  operation: Operation<Result>,
): Promise<{ result: Result; attempts: number }> {
  const { limitMs, signal, beforeRepeat, send, judge = (failure) => failure, onRetry } = operation;
  const gate = gateOf(operation.origin);
  let attempts = 0;
  let mayHaveBeenAccepted = false;
  try {
    return await withRetries(
      async (number, budget) => {
        const ended = number > 1 && beforeRepeat ? await budget.uncounted(beforeRepeat) : undefined;
        if (ended) return { ...ended, attempts };
        const release = await budget.uncounted(() => gate.acquire(signal));
        attempts = number;
        try {
          return { result: await send(budget.leftMs), attempts };
        } catch (error) {
          const pauseMs = pauseOf(error, number, limitMs);
          if (pauseMs > 0) gate.pause(pauseMs);
          throw error;
        } finally {
          release();
        }
      },
      {
        limitMs,
        signal,
        judge: (error) => (error instanceof AttemptError ? judge(error.failure) : { retry: false }),
        onRetry: (retry) => {
          mayHaveBeenAccepted ||=
            retry.error instanceof AttemptError && retry.error.failure.mayHaveBeenAccepted === true;
          onRetry(retry);
        },
      },
    );
  } catch (error) {
    signal.throwIfAborted();
    const failure = explain(error, attempts, operation);
    throw mayHaveBeenAccepted && failure instanceof ApiChatError
      ? failure.with({ mayBeTaken: true })
      : failure;
  }
}

/**
 * How long a failed attempt holds back every further call to the origin, in milliseconds: after HTTP 429, as Retry-After says,
 * and never less than the shortest pause of the call itself.
 */
function pauseOf(error: unknown, attempt: number, limitMs: number): number {
  if (!(error instanceof AttemptError) || error.failure.httpStatus !== 429) return 0;
  // Capped at the operation's time limit, so that no Retry-After can block the process forever.
  const { retryAfterMs = 0 } = error.failure;
  return Math.min(Math.max(retryAfterMs, shortestBackOffMs(attempt)), limitMs);
}

function explain(
  error: unknown,
  attempts: number,
  { name: operation, at, limitMs, hintsFor }: Operation<unknown>,
): unknown {
  const what = `${operation} ${operation === "message" ? "to" : "at"} ${at()}`;
  const facts = { at: at() };
  if (!(error instanceof AttemptError)) return error;
  const { failure, message, cause } = error;
  const { code, httpStatus, connection } = failure;
  const hints = [...(failure.hints ?? []), ...hintsFor(failure)];
  if (code === "timeout") {
    const summary = `${what}: no answer within ${limitMs / 1000} s`;
    return new ApiChatError(code, summary, { operation, attempts, facts, hints });
  }
  const tries = attempts > 1 ? ` (after ${attempts} attempts)` : "";
  return new ApiChatError(code, `${what}: ${message}${tries}`, {
    operation,
    attempts,
    facts: connection === undefined ? facts : { ...facts, connection },
    hints,
    httpStatus,
    cause,
  });
}

/** A bounded number of permits, given out by the order of asking. */
export class Semaphore {
  readonly #limit: LimitFunction;

  constructor(permits: number) {
    this.#limit = pLimit(permits);
  }

  /**
   * Waits for a permit and returns the function that releases it. Rejects with the signal's reason if it fires first.
   */
  async acquire(signal: AbortSignal = NEVER): Promise<() => void> {
    const acquired = Promise.withResolvers<() => void>();
    void this.#limit(async () => {
      const released = Promise.withResolvers<void>();
      // An aborted waiter must not hold a permit.
      if (signal.aborted) return;
      acquired.resolve(released.resolve);
      await released.promise;
    });
    return orAborted(acquired.promise, signal);
  }
}

/** Limits the number of concurrent calls to one origin, and holds all calls while the origin has asked for a pause. */
class OriginGate {
  /** By `performance.now()`, which clock changes do not affect. */
  #pausedUntil = 0;
  readonly #semaphore: Semaphore;

  constructor(callsAtOnce: number) {
    this.#semaphore = new Semaphore(callsAtOnce);
  }

  /**
   * Waits for a permit and for the end of a pause, and returns the function that releases the permit. Rejects with the
   * signal's reason if that fires first.
   */
  async acquire(signal: AbortSignal = NEVER): Promise<() => void> {
    const release = await this.#semaphore.acquire(signal);
    try {
      for (let ms = this.#pauseLeftMs(); ms > 0; ms = this.#pauseLeftMs()) await sleep(ms, signal);
      return release;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Holds back every call that has not begun for this many milliseconds. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + ms);
  }

  #pauseLeftMs(): number {
    return this.#pausedUntil - performance.now();
  }
}

const gates = new Map<string, OriginGate>();

/** The one gate of an origin in this process. */
export function gateOf(origin: string): OriginGate {
  let gate = gates.get(origin);
  if (!gate) gates.set(origin, (gate = new OriginGate(CALLS_PER_ORIGIN)));
  return gate;
}
