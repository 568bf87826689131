import { ApiChatError, type ApiChatOperation } from "../errors/index.js";
import { AttemptError, type AttemptFailure } from "./attempt.js";
import { environmentGate } from "./environment-gate.js";
import { gateOf } from "./origin-gate.js";
import { withRetries, type Retry, type RetryVerdict, type TimeBudget } from "./retry.js";
import { CallRefusedError, type Answer429, type SharedGate } from "./shared-gate.js";

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
  /** Asked for a place beside this process's own gate. Default: the one that the environment names, if it does. */
  gate?: SharedGate | undefined;
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
    attempt(number, (send) =>
      passGates(operation, () => {
        attempts = number;
        return budget.spend(send, operation.signal);
      }),
    );
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

/** Sends in a free place, and tells both gates of an answer with HTTP 429 before that place is given on. */
async function passGates<Sent>(
  { name, origin, signal, limitMs, gate }: Omit<Operation<unknown>, "attempt">,
  send: () => Promise<Sent>,
): Promise<Sent> {
  const shared = gate ?? environmentGate();
  const own = gateOf(origin);
  return own.pass(async () => {
    const place = await shared?.enter({ origin, operation: name }, signal);
    let answer429: Answer429 | undefined;
    try {
      return await send();
    } catch (error) {
      answer429 = toAnswer429(error, limitMs);
      if (answer429) own.pause(answer429.pauseMs);
      throw error;
    } finally {
      place?.leave(answer429);
    }
  }, signal);
}

function toAnswer429(error: unknown, limitMs: number): Answer429 | undefined {
  if (!(error instanceof AttemptError) || error.failure.httpStatus !== 429) return undefined;
  // Not longer than a call may take, so that no answer stops the process for good.
  return { pauseMs: Math.min(error.failure.retryAfterMs ?? 0, limitMs) };
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
  if (error instanceof CallRefusedError) {
    return new ApiChatError("unavailable", `${describe()}: ${error.message}`, { operation, attempts });
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
