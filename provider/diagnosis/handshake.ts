import { randomBytes, randomInt } from "node:crypto";
import { errors } from "undici";
import { HANDSHAKE_RULES, type HandshakeCause, type HandshakeStep } from "../errors/index.js";
import { NEVER } from "../lib/abort.js";
import { encodeHandshake, type HandshakeToSend } from "../lib/handshake-encoding.js";
import {
  type PostResponse,
  connectionCode,
  describeConnectionError,
  NOT_TLS,
  PROXY_FAILED,
  postOnce,
  PostError,
  type PostPhase,
} from "../lib/post.js";
import { printTarget } from "../lib/url.js";
import { jsonOrText } from "../lib/values.js";
import { PREFLIGHT_USER_AGENT } from "../lib/version.js";
import { quoteResponse, quoteText, titleOf } from "./describe.js";

/** How many bytes of a response's body are read. Challenges and quotations are shorter. */
export const READ_BYTES = 4096;

export interface HandshakeRequest extends HandshakeToSend {
  url: string;
  /** Sent in addition to the headers of the encoding. */
  headers?: Record<string, string>;
  /** The time for the whole exchange, in milliseconds. */
  limitMs: number;
  signal?: AbortSignal | undefined;
  /** Secrets that the step must not show, verbatim or in the usual encodings. */
  secrets: readonly string[];
}

/** Failures are in the returned step. Rejects only with the signal's reason. */
export async function sendHandshake(request: HandshakeRequest): Promise<HandshakeStep> {
  const begun = performance.now();
  const outcome = await attempt(request);
  return { encoding: request.encoding, ms: Math.round(performance.now() - begun), ...outcome };
}

type StepOutcome = Omit<HandshakeStep, "encoding" | "ms">;

async function attempt(request: HandshakeRequest): Promise<StepOutcome> {
  const { limitMs: timeoutMs, signal = NEVER, challenge } = request;
  const { url, headers: own, body } = encodeHandshake(request.url, request);
  const headers = { "user-agent": PREFLIGHT_USER_AGENT, ...own, ...request.headers };
  try {
    const answer = await postOnce(new URL(url), { headers, body, limitBytes: READ_BYTES, timeoutMs, signal });
    const cause = causeOfAnswer(answer, challenge);
    // A transcript contains details only of failures.
    if (cause === undefined) return { httpStatus: answer.status };
    return { ...failure(cause), ...describeAnswer(answer, cause, request) };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PostError)) throw error;
    return describePostFailure(error, request);
  }
}

const failure = (cause: HandshakeCause): Pick<HandshakeStep, "rule" | "cause"> => ({
  rule: HANDSHAKE_RULES[cause],
  cause,
});

function describeAnswer(
  answer: PostResponse,
  cause: HandshakeCause,
  { url, secrets }: HandshakeRequest,
): StepOutcome {
  const { location = "", "content-type": contentType = "" } = answer.headers;
  const title = cause === "html_page" ? titleOf(answer.body.toString("utf8")) : undefined;
  return {
    httpStatus: answer.status,
    ...(contentType === "" ? {} : { contentType: quoteText(contentType, secrets) }),
    ...(location === "" ? {} : { location: quoteText(printTarget(location, url), secrets) }),
    ...(title === undefined
      ? { firstBytes: quoteResponse(answer, secrets) }
      : { title: quoteText(title, secrets) }),
  };
}

function describePostFailure(error: PostError, { limitMs, secrets }: HandshakeRequest): StepOutcome {
  const connectError =
    error.failure === "timeout"
      ? `${TIMED_OUT[error.phase].words} within ${Math.round(limitMs / 100) / 10} s`
      : quoteText(describeConnectionError(error.cause), secrets);
  return { ...failure(causeOfFailure(error)), connectError };
}

/** Whether waiting may help: the endpoint, its certificate or its key may not be in place yet. */
export function mayBecomeReady({ rule, httpStatus = 0 }: HandshakeStep): boolean {
  if (rule === "unreachable" || rule === "tls" || rule === "no_answer") return true;
  return httpStatus === 401 || httpStatus === 403 || httpStatus === 404 || httpStatus >= 500;
}

/** Whether waiting is pointless: the handshake passed, or the response will not change. */
export const isFinal = ({ rule }: HandshakeStep): boolean =>
  rule === undefined || rule === "wrong_challenge" || rule === "redirect";

/**
 * Starts with digits, so that a number parser returns them and drops the rest. Then come a lower-case and an upper-case
 * letter, so that any change of case is visible. Neither is `e` or `x`, which would continue the number. The challenge
 * contains only letters and digits, which every encoding leaves unchanged.
 */
export const createChallenge = (): string =>
  `${randomInt(10_000_000, 100_000_000)}kA${randomBytes(12).toString("hex")}`;

export const numberOf = (challenge: string): string => String(Number.parseInt(challenge, 10));

const STATUS_CAUSES: Record<number, HandshakeCause> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
};

/** Statuses with which an endpoint rejects the handshake itself, often with a reason. */
const REJECTING_STATUSES = new Set([400, 401, 403, 422]);
const SPEAKS_OF_SIGNATURE = /signature|\bhmac\b/i;
const SPEAKS_OF_TOKEN = /token|verification[ _-]?key/i;

type ReceivedResponse = Pick<PostResponse, "status" | "headers" | "body">;

/** Undefined if the status is 2xx and the body is exactly the challenge (section 6.1). */
export function causeOfAnswer(answer: ReceivedResponse, challenge: string): HandshakeCause | undefined {
  const { status, body } = answer;
  if (status < 200 || status > 299) return causeOfStatus(answer);
  return body.equals(Buffer.from(challenge)) ? undefined : causeOfBody(answer, challenge);
}

function causeOfStatus({ status, headers, body }: ReceivedResponse): HandshakeCause {
  if (status >= 300 && status < 400) return "redirect";
  if (status >= 500) return "server_error";
  if (REJECTING_STATUSES.has(status) && headers["www-authenticate"] === undefined) {
    const text = body.toString("utf8");
    if (SPEAKS_OF_SIGNATURE.test(text)) return "signature_demanded";
    if (SPEAKS_OF_TOKEN.test(text)) return "token_refused";
  }
  return STATUS_CAUSES[status] ?? "other_status";
}

function causeOfBody({ headers, body }: ReceivedResponse, challenge: string): HandshakeCause {
  const text = body.toString("utf8");
  // This also removes a byte order mark.
  const core = text.trim();
  if (text === "") return "empty_body";
  if (core === challenge) return "challenge_padded";
  if (core.toLowerCase() === challenge.toLowerCase()) return "challenge_case_changed";
  if (isNumberOf(core, challenge)) return "challenge_as_number";
  if (isHtml(core, String(headers["content-type"]))) return "html_page";
  if (unquote(core).trim() === challenge) return "challenge_in_quotes";
  if (!core.includes(challenge)) return "other_body";
  if (core.includes("hub_challenge") && core.includes("hub_verify_token")) return "body_echoed";
  return typeof jsonOrText(core) === "object" ? "challenge_in_json" : "challenge_among_more";
}

/** `parseInt` and similar stop at the first letter; `Number` returns NaN; some languages write 4.2e+7. */
const isNumberOf = (core: string, challenge: string): boolean =>
  core === "NaN" || (/^\d[\d.,]*(e\+?\d+)?$/i.test(core) && Number(core) === Number(numberOf(challenge)));

const isHtml = (core: string, contentType: string): boolean =>
  /^(<\?xml[^>]*>\s*)?<(!doctype|html|head|body)\b/i.test(core) ||
  (/\bhtml\b/i.test(contentType) && core.startsWith("<"));

/** The text inside JSON's double quotes, or inside single quotes. */
function unquote(core: string): string {
  if (/^'.*'$/s.test(core)) return core.slice(1, -1);
  const value = jsonOrText(core);
  return typeof value === "string" ? value : "";
}

/** Error codes of the operating system, of OpenSSL (as Node writes them) and of undici. The first match applies. */
const CODES: readonly (readonly [RegExp, HandshakeCause])[] = [
  [/^(ENOTFOUND|EAI_|ENODATA|ESERVFAIL)/, "name_not_resolved"],
  [/^ECONNREFUSED$/, "connection_refused"],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, "connect_timeout"],
  [/^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN)$/, "tls_self_signed"],
  [/ALTNAME/, "tls_wrong_host"],
  [/^CERT_HAS_EXPIRED$/, "tls_expired"],
  [/^UNABLE_TO_|^CERT_UNTRUSTED$/, "tls_untrusted"],
  [new RegExp(`^${PROXY_FAILED}$`), "proxy_failed"],
  [NOT_TLS, "tls_not_spoken"],
  [/CERT|SSL|TLS|^EPROTO$/, "tls_failed"],
  [/^HPE_INVALID_EOF_STATE$/, "closed_early"],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/, "closed_early"],
];

export function causeOfFailure(error: unknown): HandshakeCause {
  if (error instanceof PostError) {
    return error.failure === "timeout" ? TIMED_OUT[error.phase].cause : causeOfFailure(error.cause);
  }
  const code = connectionCode(error);
  const known = CODES.find(([pattern]) => pattern.test(code));
  if (known !== undefined) return known[1];
  return error instanceof errors.HTTPParserError ? "not_http" : "connection_failed";
}

/** The cause of a timeout; it depends on how far the exchange got. */
const TIMED_OUT: Record<PostPhase, { cause: HandshakeCause; words: string }> = {
  connecting: { cause: "connect_timeout", words: "no connection" },
  sent: { cause: "silent", words: "no answer" },
  answering: { cause: "answer_unfinished", words: "the answer did not end" },
};
