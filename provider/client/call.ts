import { errors } from "undici";
import { ApiChatError, type ApiChatErrorCode, type ApiChatOperation, type Hint } from "../errors/index.js";
import { anySignal, sleep } from "../lib/abort.js";
import { quoteBody, type Redact } from "../lib/redact.js";
import {
  connectionCode,
  describeConnectionError,
  NOT_TLS,
  PROXY_FAILED,
  postOnce,
  PostError,
  type PostResponse,
} from "../lib/post.js";
import { backOffMs, DEFAULT_REQUEST_SECONDS, MIN_ATTEMPT_MS, parseRetryAfter } from "../lib/retry.js";
import { formatUrl, printTarget } from "../lib/url.js";
import { USER_AGENT } from "../lib/version.js";
import type { ClientOptions } from "./options.js";

/** The largest response that is read, in bytes. */
export const RESPONSE_LIMIT_BYTES = 1024 * 1024;

const RETRIED_STATUS = new Set([408, 429, 500, 502, 503, 504]);

/** Statuses assumed to mean that a message was not accepted. The specification defines none (section 7). */
const NOT_TAKEN_STATUS = new Set([429, 503]);

/** Connection errors that a retry does not fix, such as an unknown host or a bad certificate. */
const LASTING_CAUSES = /^(ENOTFOUND|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_)/;

export interface AttemptFailure {
  code: ApiChatErrorCode;
  text: string;
  retry: boolean;
  retryAfterMs?: number | undefined;
  /** When to stop retrying, by `performance.now()`. If set, each attempt may take the call's whole time limit. */
  retryUntil?: number | undefined;
  httpStatus?: number | undefined;
  /** Nothing was written to the connection. */
  unsent?: boolean;
  /** The request may have taken effect, although no response confirmed it. */
  mayHaveTakenEffect?: boolean;
  /** The code of a failed connection, such as ECONNREFUSED. */
  connection?: string;
  hints?: readonly Hint[];
  cause?: unknown;
}

/** Says what to check after a failed connection. The hint depends on whether a retry may help. */
export const hintForConnection = (
  { retry, connection }: AttemptFailure,
  address: "baseUrl" | "botUrl",
): Hint =>
  connection === PROXY_FAILED
    ? { id: "check_proxy" }
    : { id: retry ? "check_connection" : "check_address", address };

export type CallOutcome<Result> = { result: Result } | { failure: AttemptFailure };

export interface ServiceCall<Result> {
  operation: ApiChatOperation;
  url: URL;
  /** The address, as in the client's options. Errors show it, with query values hidden. */
  address: string;
  message: object;
  /** Sent in addition to the JSON headers. */
  headers: Readonly<Record<string, string>>;
  /** Redacts what errors must not show. */
  redact: Redact;
  /** The client's options. The time limit covers all attempts, but not the pauses after an HTTP 429. */
  options: ClientOptions;
  /** Ends the call at once: its promise rejects with the signal's reason. */
  signal: AbortSignal | undefined;
  /** A 2xx status suffices, even if the body is cut off or too long; `text` is then empty. */
  statusSuffices?: boolean;
  read: (response: { status: number; text: string }) => CallOutcome<Result>;
  judge: (failure: AttemptFailure) => AttemptFailure;
  /** Called before each retry. If it resolves to a result, the call ends with that result instead of retrying. */
  beforeRepeat?: (() => Promise<{ result: Result } | undefined>) | undefined;
  /** What to do next, in addition to the failure's own hints. */
  hintsFor: (failure: AttemptFailure) => Hint[];
}

/** Retries failures that may be temporary. Rejects with an ApiChatError or the signal's reason. */
export async function call<Result>(
  request: ServiceCall<Result>,
): Promise<{ result: Result; attempts: number }> {
  const { operation, url, options, judge, beforeRepeat } = request;
  const limitMs = (options.requestSeconds ?? DEFAULT_REQUEST_SECONDS) * 1000;
  const signal = anySignal(request.signal, options.signal);
  let endMs = performance.now() + limitMs;
  /** Runs work that does not count towards the time limit. */
  const uncounted = async <T>(work: () => Promise<T>): Promise<T> => {
    const begun = performance.now();
    const result = await work();
    endMs += performance.now() - begun;
    return result;
  };
  let mayHaveTakenEffect = false;
  for (let attempts = 1; ; attempts += 1) {
    await uncounted(() => waitForOrigin(url.origin, signal));
    const outcome = await attempt(request, Math.max(0, endMs - performance.now()), signal);
    if ("result" in outcome) return { result: outcome.result, attempts };
    const failure = judge(outcome.failure);
    mayHaveTakenEffect ||= failure.mayHaveTakenEffect === true;
    const error = toError(failure, { attempts, mayHaveTakenEffect, limitMs }, request);
    const { retry, retryAfterMs = 0, retryUntil = endMs, httpStatus } = failure;
    // Never less than the back-off: "Retry-After: 0" would cause a loop without a pause.
    const delayMs = Math.max(retryAfterMs, backOffMs(attempts));
    // Capped at the call's time limit, so that no Retry-After can block the process forever.
    if (httpStatus === 429) pauseOrigin(url.origin, Math.min(delayMs, limitMs));
    if (!retry || performance.now() + delayMs + MIN_ATTEMPT_MS > retryUntil) throw error;
    options.onRetry?.({ attempt: attempts, delayMs, error, operation });
    await sleep(delayMs, signal);
    if (failure.retryUntil !== undefined) endMs = performance.now() + limitMs;
    try {
      const ended = beforeRepeat && (await uncounted(beforeRepeat));
      if (ended) return { ...ended, attempts };
    } catch (thrown) {
      throw mayHaveTakenEffect && thrown instanceof ApiChatError
        ? thrown.with({ mayHaveTakenEffect })
        : thrown;
    }
  }
}

const OUR_HEADERS = {
  "content-type": "application/json",
  accept: "application/json",
  "user-agent": USER_AGENT,
};

/** Posts once. Rejects only with the signal's reason. */
async function attempt<Result>(
  request: ServiceCall<Result>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CallOutcome<Result>> {
  const { url, message, headers, options, statusSuffices = false, read } = request;
  try {
    const response = await postOnce(url, {
      headers: { ...OUR_HEADERS, ...headers },
      body: JSON.stringify(message),
      limitBytes: RESPONSE_LIMIT_BYTES,
      timeoutMs,
      signal,
      dispatcher: options.dispatcher,
    });
    const { status, body, isComplete } = response;
    if (isSuccess(status) && (isComplete || statusSuffices))
      return read({ status, text: isComplete ? body.toString("utf8") : "" });
    return { failure: toRejection(response, request) };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PostError)) throw error;
    if (statusSuffices && error.head && isSuccess(error.head.status))
      return read({ status: error.head.status, text: "" });
    return { failure: unanswered(error, request) };
  }
}

/** The specification defines no success status, so any 2xx is a success. */
const isSuccess = (status: number): boolean => status >= 200 && status < 300;

type Asked = Pick<ServiceCall<unknown>, "operation" | "url" | "redact">;

const mayBeTakenAt = (status: number | undefined, { operation }: Asked): boolean =>
  operation !== "message" || !NOT_TAKEN_STATUS.has(status ?? 0);

function unanswered({ failure, phase, head, cause, message }: PostError, asked: Asked): AttemptFailure {
  const unsent = phase === "connecting";
  const facts = { unsent, mayHaveTakenEffect: !unsent && mayBeTakenAt(head?.status, asked) };
  if (failure === "timeout") return { code: "timeout", text: message, retry: false, ...facts };
  const code = connectionCode(cause);
  return {
    code: "unavailable",
    text: `no response: ${quoteBody(describeConnectionError(cause), asked.redact)}`,
    retry: !LASTING_CAUSES.test(code) && !NOT_TLS.test(code),
    ...facts,
    ...(code === "" ? {} : { connection: code }),
    // undici's parser error contains the raw response, which may contain a secret.
    cause: cause instanceof errors.HTTPParserError ? undefined : cause,
  };
}

/** Describes the failure if a response is too long or its status is not 2xx. */
function toRejection(
  { status: httpStatus, headers, body, isComplete }: PostResponse,
  asked: Asked,
): AttemptFailure {
  const mayHaveTakenEffect = mayBeTakenAt(httpStatus, asked);
  if (!isComplete) {
    const text = `the response body is larger than ${RESPONSE_LIMIT_BYTES} bytes`;
    return { code: "protocol", text, retry: false, mayHaveTakenEffect };
  }
  if (httpStatus >= 300 && httpStatus < 400) {
    const target = headers.location === undefined ? "nowhere" : printTarget(headers.location, asked.url.href);
    const text =
      `HTTP ${httpStatus} redirects to ${asked.redact(target)}, which is not followed, ` +
      "because that would forward the API key";
    const address = asked.operation === "message" ? "botUrl" : "baseUrl";
    const hints: Hint[] = [{ id: "set_final_address", address }];
    return { code: "protocol", text, httpStatus, retry: false, hints };
  }
  const retry = RETRIED_STATUS.has(httpStatus);
  const isUnauthorized = httpStatus === 401 || httpStatus === 403;
  const said = body.toString("utf8");
  return {
    code: isUnauthorized ? "unauthorized" : retry ? "unavailable" : "rejected",
    text: `HTTP ${httpStatus}${said.trim() === "" ? "" : `: ${quoteBody(said, asked.redact)}`}`,
    httpStatus,
    retry,
    retryAfterMs: parseRetryAfter(headers["retry-after"]),
    mayHaveTakenEffect: retry && mayHaveTakenEffect,
  };
}

function toError(
  failure: AttemptFailure,
  course: { attempts: number; mayHaveTakenEffect: boolean; limitMs: number },
  { operation, address, hintsFor }: Pick<ServiceCall<unknown>, "operation" | "address" | "hintsFor">,
): ApiChatError {
  const { attempts, mayHaveTakenEffect, limitMs } = course;
  const { code, text, httpStatus, connection, cause } = failure;
  const at = formatUrl(address);
  const times = attempts > 1 ? ` (after ${attempts} attempts)` : "";
  const what = code === "timeout" ? `no response within ${limitMs / 1000} s` : `${text}${times}`;
  return new ApiChatError(code, `${operation} ${operation === "message" ? "to" : "at"} ${at}: ${what}`, {
    operation,
    attempts,
    facts: { at, ...(connection === undefined ? {} : { connection }) },
    hints: [...(failure.hints ?? []), ...hintsFor(failure)],
    httpStatus,
    mayHaveTakenEffect: mayHaveTakenEffect || undefined,
    cause,
  });
}

/** The end of each origin's pause, by `performance.now()`, which clock changes do not affect. */
const pausedUntil = new Map<string, number>();

const pauseLeftMs = (origin: string): number => (pausedUntil.get(origin) ?? 0) - performance.now();

function pauseOrigin(origin: string, ms: number): void {
  pausedUntil.set(origin, Math.max(pausedUntil.get(origin) ?? 0, performance.now() + ms));
}

async function waitForOrigin(origin: string, signal: AbortSignal): Promise<void> {
  for (let ms = pauseLeftMs(origin); ms > 0; ms = pauseLeftMs(origin)) await sleep(ms, signal);
}
