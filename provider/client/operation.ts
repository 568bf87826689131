import { ApiChatError, type ApiChatOperation, type Hint } from "../errors/index.js";
import { withRetries, type Retry, type RetryVerdict } from "../lib/retry.js";
import { AttemptError, type AttemptFailure } from "./attempt.js";
import {
  CALL_GATE_VARIABLE,
  CallRefusedError,
  gateOf,
  type Answer429,
  type SharedGate,
} from "./origin-gate.js";

/** One call of a client, with all its attempts. */
export interface Operation<Result> {
  name: ApiChatOperation;
  origin: string;
  /** Asked for a permit beside this process's own gate. Default: the one that the environment names, if it does. */
  gate?: SharedGate | undefined;
  /** The address as its error shows it. */
  at: () => string;
  /** The time for all attempts and the pauses between them, in milliseconds. Waiting for a permit does not count. */
  limitMs: number;
  /** Ends the operation at once; it rejects with the signal's reason. */
  signal: AbortSignal;
  /** Asked before each repetition: the result with which the operation ends in place of it, if any. */
  beforeRepeat?: (() => Promise<{ result: Result } | undefined>) | undefined;
  /** Sends one attempt, in at most so many milliseconds. */
  send: (timeoutMs: number) => Promise<Result>;
  /** Whether a failed attempt is repeated. Default: as the failure says. */
  judge?: (failure: AttemptFailure) => RetryVerdict;
  onRetry: (retry: Retry) => void;
  /** What to do next, where the failure itself does not tell. */
  hintsFor: (failure: AttemptFailure) => Hint[];
}

/**
 * Runs an operation within its time limit: waits for its turn at the origin, sends, and repeats what may succeed. Gives the
 * result and how many attempts were sent. Rejects with an ApiChatError, or with what is not the service's failure as it is.
 */
export async function runOperation<Result>(
  operation: Operation<Result>,
): Promise<{ result: Result; attempts: number }> {
  const { limitMs, signal, beforeRepeat, send, judge = (failure) => failure, onRetry } = operation;
  let attempts = 0;
  try {
    return await withRetries(
      async (number, budget) => {
        const ended = number > 1 && beforeRepeat ? await budget.uncounted(beforeRepeat) : undefined;
        if (ended) return { ...ended, attempts };
        const permit = await budget.uncounted(() => enterGates(operation));
        attempts = number;
        try {
          return { result: await send(budget.leftMs), attempts };
        } catch (error) {
          permit.note(error);
          throw error;
        } finally {
          permit.release();
        }
      },
      {
        limitMs,
        signal,
        judge: (error) => (error instanceof AttemptError ? judge(error.failure) : { retry: false }),
        onRetry,
      },
    );
  } catch (error) {
    signal.throwIfAborted();
    throw explain(error, attempts, operation);
  }
}

/** The right to send one request. */
interface Permit {
  /** Notes a failure: HTTP 429 pauses the origin, in this process and in those that share the gate. */
  note(error: unknown): void;
  release(): void;
}

/** Waits for the turn of one attempt: first at this process's own gate, then at the shared one. */
async function enterGates({ name, origin, signal, limitMs, gate }: Operation<unknown>): Promise<Permit> {
  const own = gateOf(origin);
  const release = await own.acquire(signal);
  try {
    const place = await (gate ?? (await environmentGate()))?.enter({ origin, operation: name }, signal);
    let answer429: Answer429 | undefined;
    return {
      note: (error) => {
        answer429 = toAnswer429(error, limitMs);
        if (answer429) own.pause(answer429.pauseMs);
      },
      release: () => {
        place?.leave(answer429);
        release();
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

let opened: { path: string; gate: Promise<SharedGate> } | undefined;

/** The gate that the environment names, if it names one: one connection a process, made on the first use. */
async function environmentGate(): Promise<SharedGate | undefined> {
  const path = process.env[CALL_GATE_VARIABLE];
  if (!path) return undefined;
  if (opened?.path !== path) opened = { path, gate: connectToGate(path) };
  return opened.gate;
}

/** Loaded here: few processes share a gate. */
async function connectToGate(path: string): Promise<SharedGate> {
  const { GateConnection } = await import("./shared-gate.js");
  return new GateConnection(path);
}

function toAnswer429(error: unknown, limitMs: number): Answer429 | undefined {
  if (!(error instanceof AttemptError) || error.failure.httpStatus !== 429) return undefined;
  // Not longer than a call may take, so that no answer stops the process for good.
  return { pauseMs: Math.min(error.failure.retryAfterMs ?? 0, limitMs) };
}

function explain(
  error: unknown,
  attempts: number,
  { name: operation, at, limitMs, hintsFor }: Operation<unknown>,
): unknown {
  const what = `${operation} ${operation === "message" ? "to" : "at"} ${at()}`;
  const facts = { at: at() };
  if (error instanceof CallRefusedError) {
    return new ApiChatError("unavailable", `${what}: ${error.message}`, { operation, attempts, facts });
  }
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
