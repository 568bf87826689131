import { errors, type Dispatcher } from "undici";
import type { ApiChatErrorCode, Hint } from "../errors/index.js";
import { quoteBody, type Redact } from "../lib/redact.js";
import { connectionCode, post, PostError, type Answer } from "../lib/post.js";
import { parseRetryAfter, type RetryVerdict } from "../lib/retry.js";
import { printTarget } from "../lib/url.js";
import { USER_AGENT } from "../lib/version.js";

/** The largest answer that is read, in bytes. */
export const ANSWER_LIMIT_BYTES = 1024 * 1024;

const RETRIED_STATUS = new Set([408, 429, 500, 502, 503, 504]);

/** Assumed to mean: not accepted, come again later. The specification shows no status (section 7). */
const NOT_TAKEN_STATUS = new Set([429, 503]);

/** Connection errors that a retry does not fix, such as an unknown host or a bad certificate. */
const LASTING_CAUSES =
  /^(ENOTFOUND|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_WRONG_VERSION)/;

export interface AttemptFailure extends RetryVerdict {
  code: ApiChatErrorCode;
  httpStatus?: number;
  /** Nothing was written to the connection. */
  unsent?: boolean;
  /** The service may have done what was asked, although it did not say so. */
  mayHaveBeenAccepted?: boolean;
  /** The code of a failed connection, such as ECONNREFUSED. */
  connection?: string;
  hints?: readonly Hint[];
}

/** Why one attempt failed, and whether the next may do better. */
export class AttemptError extends Error {
  override readonly name = "AttemptError";
  readonly failure: AttemptFailure;

  constructor(failure: AttemptFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.failure = failure;
  }
}

export interface AttemptOptions {
  /** Default: the pool of this process. */
  dispatcher?: Dispatcher | undefined;
  signal: AbortSignal;
  /** The time for all of it, in milliseconds. */
  timeoutMs: number;
  /** Takes what no error may show out of what came back. */
  redact: Redact;
  /** The option that holds the address, for the error of a redirect. */
  addressOption: "baseUrl" | "botUrl";
  /** Sent in addition to the JSON headers. */
  headers?: Readonly<Record<string, string>>;
}

const OUR_HEADERS = {
  "content-type": "application/json",
  accept: "application/json",
  "user-agent": USER_AGENT,
};

/**
 * Posts JSON once and returns the 2xx response, whatever its body. Throws an AttemptError for any other response, or
 * the signal's reason. With `statusSuffices`, a 2xx status counts even if the body is cut off or too long; `text` is
 * then empty.
 */
export async function attemptPost(
  url: URL,
  message: object,
  options: AttemptOptions & { statusSuffices?: boolean },
): Promise<{ status: number; text: string }> {
  const { statusSuffices = false, addressOption, redact } = options;
  const { status, headers, body, isComplete } = await send(url, message, options);
  const text = body.toString("utf8");
  if (isSuccess(status) && (isComplete || statusSuffices)) return { status, text: isComplete ? text : "" };
  if (!isComplete) throw tooLarge(status);
  if (status >= 300 && status < 400) {
    const target = headers.location === undefined ? "nowhere" : printTarget(headers.location, url.href);
    throw redirected(status, redact(target), addressOption);
  }
  throw refused(status, quoteIfAny(text, redact), headers["retry-after"]);
}

async function send(
  url: URL,
  message: object,
  { dispatcher, signal, timeoutMs, redact, headers, statusSuffices }: Parameters<typeof attemptPost>[2],
): Promise<Answer> {
  try {
    return await post(url, {
      headers: { ...OUR_HEADERS, ...headers },
      body: JSON.stringify(message),
      limitBytes: ANSWER_LIMIT_BYTES,
      timeoutMs,
      signal,
      dispatcher,
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PostError)) throw error;
    const { head } = error;
    if (statusSuffices && head && isSuccess(head.status))
      return { ...head, body: Buffer.alloc(0), isComplete: false };
    throw toAttemptError(error, redact);
  }
}

/** Like {@link attemptPost}, but returns the parsed JSON body. */
export async function attemptPostJson(url: URL, message: object, options: AttemptOptions): Promise<unknown> {
  const { status, text } = await attemptPost(url, message, options);
  try {
    return JSON.parse(text);
  } catch {
    throw new AttemptError(
      { code: "protocol", httpStatus: status, retry: false },
      `the response is not JSON${quoteIfAny(text, options.redact) || ": it is empty"}`,
    );
  }
}

/** The specification names no status: any 2xx is a success. */
const isSuccess = (status: number): boolean => status >= 200 && status < 300;

const mayHaveBeenAccepted = (status: number | undefined): boolean => !NOT_TAKEN_STATUS.has(status ?? 0);

/** Computed only for a response that fails, because no other needs the quote. */
const quoteIfAny = (text: string, redact: Redact): string =>
  text.trim() === "" ? "" : `: ${quoteBody(text, redact)}`;

function toAttemptError(error: PostError, redact: Redact): AttemptError {
  const { failure, phase, head, cause } = error;
  const unsent = phase === "connecting";
  const facts = { unsent, mayHaveBeenAccepted: !unsent && mayHaveBeenAccepted(head?.status) };
  if (failure === "timeout")
    return new AttemptError({ code: "timeout", retry: false, ...facts }, error.message);
  const code = connectionCode(cause);
  const text = quoteBody(cause instanceof Error ? cause.message : String(cause), redact);
  return new AttemptError(
    {
      code: "unavailable",
      retry: !LASTING_CAUSES.test(code),
      ...facts,
      ...(code === "" ? {} : { connection: code }),
    },
    `no answer: ${code && !text.includes(code) ? `${code} ` : ""}${text}`,
    // undici's parser error contains the raw response, which may contain a secret.
    cause instanceof errors.HTTPParserError ? undefined : cause,
  );
}

function tooLarge(status: number): AttemptError {
  return new AttemptError(
    { code: "protocol", retry: false, mayHaveBeenAccepted: mayHaveBeenAccepted(status) },
    `the response body is larger than ${ANSWER_LIMIT_BYTES} bytes`,
  );
}

function redirected(status: number, target: string, address: "baseUrl" | "botUrl"): AttemptError {
  return new AttemptError(
    { code: "protocol", httpStatus: status, retry: false, hints: [{ id: "set_final_address", address }] },
    `HTTP ${status} redirects to ${target}, which is not followed, because that would forward the API key`,
  );
}

function refused(status: number, quoted: string, retryAfter: string | undefined): AttemptError {
  const retry = RETRIED_STATUS.has(status);
  const code = status === 401 || status === 403 ? "unauthorized" : retry ? "unavailable" : "rejected";
  return new AttemptError(
    {
      code,
      httpStatus: status,
      retry,
      retryAfterMs: parseRetryAfter(retryAfter),
      mayHaveBeenAccepted: retry && mayHaveBeenAccepted(status),
    },
    `HTTP ${status}${quoted}`,
  );
}
