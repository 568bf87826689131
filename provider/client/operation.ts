import { ApiChatError, type ApiChatOperation } from "../errors.js";
import { AttemptError, type AttemptFailure } from "./attempt.js";
import { gateOf } from "./origin-gate.js";
import { withRetries, type Retry, type RetryVerdict, type TimeBudget } from "./retry.js";

/** Runs the sending of one attempt in a free place of the origin, with a signal that ends it when the time is over. */
export type Pass = <Sent>(send: (signal: AbortSignal) => Promise<Sent>) => Promise<Sent>;

/** What to do next, where the failure itself does not tell; empty, or a sentence. */
export interface Hints {
  onFailure: (failure: AttemptFailure) => string;
  onTimeout: () => string;
}

/** One call of a client, with all its attempts. */
export interface Operation<Result> {
  name: ApiChatOperation;
  origin: string;
  /** What is under way and where, for its error. */
  describe: () => string;
  /** The time for all attempts and the pauses between them. */
  limitMs: number;
  /** Ends the operation at once; it rejects with the signal's reason. */
  signal: AbortSignal;
  attempt: (number: number, pass: Pass) => Promise<Result>;
  judge: (failure: AttemptFailure) => RetryVerdict;
  onRetry: (retry: Retry) => void;
  hints: Hints;
}

/** Runs an operation: its attempts, its share of the origin, its time limit; every failure of it is an ApiChatError. */
export async function runOperation<Result>(operation: Operation<Result>): Promise<Result> {
  const { attempt, judge, limitMs, signal, onRetry } = operation;
  let attempts = 0;
  const countAttempt = (number: number, budget: TimeBudget): Promise<Result> =>
    attempt(number, (send) => {
      attempts = number;
      return passGate(send, budget, operation);
    });
  try {
    return await withRetries(countAttempt, {
      limitMs,
      signal,
      judge: (error) => (error instanceof AttemptError ? judge(error.failure) : { retry: false }),
      onRetry,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw explain(error, attempts, operation);
  }
}

async function passGate<Sent>(
  send: (signal: AbortSignal) => Promise<Sent>,
  budget: TimeBudget,
  { origin, signal, limitMs }: Pick<Operation<unknown>, "origin" | "signal" | "limitMs">,
): Promise<Sent> {
  const gate = gateOf(origin);
  try {
    return await gate.pass(() => budget.spend(send, signal), signal);
  } catch (error) {
    if (error instanceof AttemptError && error.failure.httpStatus === 429) {
      // Not longer than a call may take, so that no answer stops the process for good.
      gate.pause(Math.min(error.failure.retryAfterMs ?? 0, limitMs));
    }
    throw error;
  }
}

function explain(
  error: unknown,
  attempts: number,
  {
    name: operation,
    describe,
    limitMs,
    hints,
  }: Pick<Operation<unknown>, "name" | "describe" | "limitMs" | "hints">,
): unknown {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    const message = `${describe()}: no answer within ${limitMs / 1000} s${hints.onTimeout()}`;
    return new ApiChatError("timeout", message, { operation, attempts });
  }
  if (!(error instanceof AttemptError)) return error;
  const { code, httpStatus } = error.failure;
  const tries = attempts > 1 ? ` (after ${attempts} attempts)` : "";
  const message = `${describe()}: ${error.message}${tries}${hints.onFailure(error.failure)}`;
  return new ApiChatError(code, message, {
    operation,
    attempts,
    ...(httpStatus === undefined ? {} : { httpStatus }),
    cause: error.cause,
  });
}
