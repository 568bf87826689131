import { gateOf } from "../client/origin-gate.js";
import type { HandshakeCause, HandshakeEncoding, HandshakeStep } from "../errors/index.js";
import { NEVER } from "../lib/abort.js";
import { encodeHandshake } from "../lib/handshake-encoding.js";
import { post, PostError, type Answer } from "../lib/post.js";
import { printTarget } from "../lib/url.js";
import { PREFLIGHT_USER_AGENT } from "../lib/version.js";
import { CAUSES } from "./causes.js";
import { quoteBody, quoteText, titleOf } from "./describe.js";
import {
  causeOfAnswer,
  causeOfConnectionError,
  causeOfTimeout,
  describeConnectionError,
} from "./find-cause.js";

/** How much of an answer's body is read: a challenge is shorter, and a quotation too. */
const READ_BYTES = 4096;

/** One handshake to perform. */
export interface HandshakeRequest {
  url: string;
  encoding: HandshakeEncoding;
  /** Sent as `hub_verify_token`. */
  token: string;
  /** Sent as `hub_challenge`. */
  challenge: string;
  /** Sent besides those of the encoding. */
  headers?: Record<string, string>;
  /** The time for the whole exchange, in milliseconds. Waiting for a free place does not count. */
  limitMs: number;
  /** Ends it at once. */
  signal?: AbortSignal | undefined;
  /** What the step must not show, as it is and in the usual encodings. */
  secrets: readonly string[];
}

/**
 * Performs the handshake once in one encoding, as the service would (section 6.1). What goes wrong stands in the step.
 * Rejects with the signal's reason, and with nothing else.
 */
export async function performHandshake(request: HandshakeRequest): Promise<HandshakeStep> {
  const { url, encoding, signal = NEVER } = request;
  // Waiting for a permit has no time limit of its own: many webhooks may share one endpoint.
  const release = await gateOf(new URL(url).origin).acquire(signal);
  const begun = performance.now();
  try {
    const outcome = await attempt(request);
    return { encoding, ms: Math.round(performance.now() - begun), ...outcome };
  } finally {
    release();
  }
}

type Outcome = Omit<HandshakeStep, "encoding" | "ms">;

async function attempt(request: HandshakeRequest): Promise<Outcome> {
  const { limitMs: timeoutMs, signal = NEVER, challenge } = request;
  const { url, headers: own, body } = encodeHandshake(request.url, request);
  const headers = { "user-agent": PREFLIGHT_USER_AGENT, ...own, ...request.headers };
  try {
    const answer = await post(new URL(url), { headers, body, limitBytes: READ_BYTES, timeoutMs, signal });
    const cause = causeOfAnswer(answer, challenge);
    // A transcript shows what failed.
    if (cause === undefined) return { httpStatus: answer.status };
    return { ...failure(cause), ...describeAnswer(answer, cause, request) };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PostError)) throw error;
    return error.failure === "timeout" ? describeTimeout(error, request) : describeError(error, request);
  }
}

const failure = (cause: HandshakeCause): Pick<HandshakeStep, "rule" | "cause"> => ({
  rule: CAUSES[cause].rule,
  cause,
});

function describeAnswer(answer: Answer, cause: HandshakeCause, { url, secrets }: HandshakeRequest): Outcome {
  const { location = "", "content-type": contentType = "" } = answer.headers;
  const title = cause === "html_page" ? titleOf(answer.body.toString("utf8")) : undefined;
  return {
    httpStatus: answer.status,
    ...(contentType === "" ? {} : { contentType: quoteText(contentType, secrets) }),
    ...(location === "" ? {} : { location: quoteText(printTarget(location, url), secrets) }),
    ...(title === undefined
      ? { firstBytes: quoteBody(answer, secrets) }
      : { title: quoteText(title, secrets) }),
  };
}

function describeTimeout({ phase }: PostError, { limitMs }: HandshakeRequest): Outcome {
  const { cause, words } = causeOfTimeout(phase);
  return { ...failure(cause), connectError: `${words} within ${Math.round(limitMs / 100) / 10} s` };
}

function describeError({ cause: error }: PostError, { secrets }: HandshakeRequest): Outcome {
  const connectError = quoteText(describeConnectionError(error), secrets);
  return { ...failure(causeOfConnectionError(error)), connectError };
}

/** Whether waiting may help: the endpoint, its certificate or its key may be on their way. */
export function mayBecomeReady({ rule, httpStatus = 0 }: HandshakeStep): boolean {
  if (rule === "unreachable" || rule === "tls" || rule === "no_answer") return true;
  return httpStatus === 401 || httpStatus === 403 || httpStatus === 404 || httpStatus >= 500;
}

/** Whether waiting is over: the handshake passed, or the answer is wrong for good. */
export const isFinal = ({ rule }: HandshakeStep): boolean =>
  rule === undefined || rule === "wrong_challenge" || rule === "redirect";
