import { errors, type Dispatcher } from "undici";
import type { ApiChatErrorCode } from "../errors/index.js";
import { parseRetryAfter } from "../lib/retry-after.js";
import { printTarget } from "../lib/url.js";
import { BodyTooLargeError, type Answer, type ExchangeProgress } from "../lib/answer-reader.js";
import { exchange } from "./exchange.js";
import type { RetryVerdict } from "./retry.js";

/** The largest answer that is read, in bytes. */
export const ANSWER_LIMIT_BYTES = 1024 * 1024;

const RETRIED_STATUS = new Set([408, 429, 500, 502, 503, 504]);

/** Connections that fail in these ways fail the same way the next time: a wrong name, a wrong certificate. */
const LASTING_CAUSES =
  /^(ENOTFOUND|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_WRONG_VERSION)/;

export interface AttemptFailure extends RetryVerdict {
  code: ApiChatErrorCode;
  httpStatus?: number;
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
  dispatcher: Dispatcher;
  signal: AbortSignal;
  /** Quotes what came back for an error, without what no error may show. */
  quote: (text: string) => string;
  /** The option that holds the address, for the error of a redirect. */
  addressOption: string;
  /** Sent beside the headers of JSON. */
  headers?: Readonly<Record<string, string>>;
  /** Kept up to date. */
  progress?: ExchangeProgress;
}

/** Posts JSON once and gives the parsed JSON of a 2xx answer. Throws AttemptError for everything else. */
export async function postJson(url: URL, body: object, options: AttemptOptions): Promise<unknown> {
  const { status, text } = await post(url, body, options);
  try {
    return JSON.parse(text);
  } catch {
    throw new AttemptError(
      { code: "protocol", httpStatus: status, retry: false },
      `the answer is not JSON${quoteBody(text, options) || " but empty"}`,
    );
  }
}

/** Posts JSON once and gives the 2xx answer, whatever its body. Throws AttemptError for everything else. */
export async function post(url: URL, body: object, options: AttemptOptions): Promise<Answer> {
  const answer = await send(url, body, options);
  const { status, headers, text } = answer;
  if (isSuccess(status)) return answer;
  if (status >= 300 && status < 400) {
    const target = headers.location === undefined ? "nowhere" : printTarget(headers.location, url.href);
    throw redirected(status, options.quote(target), options.addressOption);
  }
  throw refused(status, quoteBody(text, options), headers["retry-after"]);
}

/** The specification names no status: any 2xx is a success. */
export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Only for an answer that fails: no other needs the quote. */
const quoteBody = (text: string, { quote }: AttemptOptions): string =>
  text.trim() === "" ? "" : `: ${quote(text)}`;

async function send(
  url: URL,
  body: object,
  { dispatcher, signal, quote, headers, progress }: AttemptOptions,
): Promise<Answer> {
  try {
    const limitBytes = ANSWER_LIMIT_BYTES;
    return await exchange(url, body, { dispatcher, signal, limitBytes, headers, progress });
  } catch (error) {
    throw connectionFailed(error, signal, quote);
  }
}

function connectionFailed(error: unknown, signal: AbortSignal, quote: (text: string) => string): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof BodyTooLargeError) {
    return new AttemptError({ code: "protocol", retry: false }, `the answer is refused: ${error.message}`);
  }
  const code = connectionCode(error);
  const text = quote(error instanceof Error ? error.message : String(error));
  return new AttemptError(
    { code: "unavailable", retry: !LASTING_CAUSES.test(code) },
    `no answer: ${code && !text.includes(code) ? `${code} ` : ""}${text}`,
    // An answer that is no HTTP stands in its error, and may hold a secret.
    error instanceof errors.HTTPParserError ? undefined : error,
  );
}

/** The system's or undici's code of a connection error; a host with several addresses hides it one level down. */
export function connectionCode(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return connectionCode(error.errors[0]);
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

function redirected(status: number, target: string, addressOption: string): AttemptError {
  return new AttemptError(
    { code: "protocol", httpStatus: status, retry: false },
    `HTTP ${status} redirects to ${target}, which is not followed, because the API key would go along; set ${addressOption} to the final address`,
  );
}

function refused(status: number, said: string, retryAfter: string | undefined): AttemptError {
  const code =
    status === 401 || status === 403
      ? "unauthorized"
      : RETRIED_STATUS.has(status)
        ? "unavailable"
        : "rejected";
  const retryAfterMs = parseRetryAfter(retryAfter);
  return new AttemptError(
    {
      code,
      httpStatus: status,
      retry: RETRIED_STATUS.has(status),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    },
    `HTTP ${status}${said}`,
  );
}
