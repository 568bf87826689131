import { randomBytes } from "node:crypto";
import { request, type Dispatcher } from "undici";
import { orAborted } from "../client/abort.js";
import { connectionCode } from "../client/attempt.js";
import { readBodyStart } from "../client/body.js";
import { sharedDispatcher } from "../client/dispatcher.js";
import { gateOf } from "../client/origin-gate.js";
import type { HandshakeRule, HandshakeStep } from "../errors.js";
import { quote } from "../redact.js";
import { appendQuery, printTarget, secretsOfUrl } from "../url.js";

/** How the three parameters of section 6.1 may travel: the specification does not say. */
type HandshakeEncoding = HandshakeStep["encoding"];

/** How long the endpoint may take to answer at most, in milliseconds. */
const LONGEST_ANSWER_MS = 10_000;
const READ_BYTES = 4096;
const QUOTED_CHARACTERS = 200;

export interface HandshakeTarget {
  url: string;
  verificationKey: string;
}

/** Performs the handshake once in one encoding, as the service would (section 6.1), within at most 10 s. Never throws. */
export async function performHandshake(
  target: HandshakeTarget,
  encoding: HandshakeEncoding,
  limitMs: number,
): Promise<HandshakeStep> {
  // Waiting for a free place has no time limit of its own: many webhooks may share one endpoint.
  return gateOf(new URL(target.url).origin).pass(async () => {
    const begun = performance.now();
    const outcome = await exchange(target, encoding, Math.min(limitMs, LONGEST_ANSWER_MS));
    return { encoding, ms: Math.round(performance.now() - begun), ...outcome };
  });
}

type Outcome = Omit<HandshakeStep, "encoding" | "ms">;

async function exchange(
  target: HandshakeTarget,
  encoding: HandshakeEncoding,
  limitMs: number,
): Promise<Outcome> {
  const challenge = randomBytes(16).toString("hex");
  const secrets = [target.verificationKey, challenge, ...secretsOfUrl(target.url)];
  const signal = AbortSignal.timeout(Math.ceil(limitMs));
  const { url, headers, body } = encode(target, encoding, challenge);
  try {
    const sent = request(url, { method: "POST", headers, body, dispatcher: sharedDispatcher(), signal });
    const answer = await orAborted(sent, signal);
    const start = await readBodyStart(answer.body, READ_BYTES);
    const rule = brokenRule(answer.statusCode, start.equals(Buffer.from(challenge)));
    // A transcript shows what failed; redacting what passed would take longer than the handshake.
    if (rule === undefined) return { httpStatus: answer.statusCode };
    return { rule, ...describeAnswer(answer, { start, url: target.url, secrets }) };
  } catch (error) {
    if (signal.aborted)
      return { rule: "no_answer", connectError: `no answer within ${Math.round(limitMs / 100) / 10} s` };
    return judgeConnection(error, secrets);
  }
}

function encode({ url, verificationKey }: HandshakeTarget, encoding: HandshakeEncoding, challenge: string) {
  const parameters = { hub_mode: "subscribe", hub_verify_token: verificationKey, hub_challenge: challenge };
  const form = new URLSearchParams(parameters).toString();
  if (encoding === "json") {
    return { url, headers: { "content-type": "application/json" }, body: JSON.stringify(parameters) };
  }
  if (encoding === "form") {
    return { url, headers: { "content-type": "application/x-www-form-urlencoded" }, body: form };
  }
  return { url: appendQuery(url, form), headers: {}, body: null };
}

function describeAnswer(
  { statusCode, headers }: Dispatcher.ResponseData,
  { start, url, secrets }: { start: Buffer; url: string; secrets: readonly string[] },
): Outcome {
  const contentType = quote(String(headers["content-type"] ?? ""), secrets);
  const location =
    headers.location === undefined ? "" : quote(printTarget(String(headers.location), url), secrets);
  return {
    httpStatus: statusCode,
    ...(contentType === "" ? {} : { contentType }),
    ...(location === "" ? {} : { location }),
    firstBytes: quote(start.toString("utf8"), secrets, QUOTED_CHARACTERS),
  };
}

function brokenRule(status: number, isChallenge: boolean): HandshakeRule | undefined {
  if (status >= 300 && status < 400) return "redirect";
  if (status === 401 || status === 403) return "token_refused";
  if (status < 200 || status > 299) return "status";
  return isChallenge ? undefined : "wrong_challenge";
}

function judgeConnection(error: unknown, secrets: readonly string[]): Outcome {
  const code = connectionCode(error);
  const text = quote(error instanceof Error ? error.message : String(error), secrets, QUOTED_CHARACTERS);
  const connectError = text.includes(code) ? text : `${code} ${text}`;
  return { rule: /CERT|SSL|TLS|SIGNED|ALTNAME/.test(code) ? "tls" : "unreachable", connectError };
}

/** Whether waiting may help: the endpoint, its certificate or its key may be on their way. */
export function mayBecomeReady({ rule, httpStatus = 0 }: HandshakeStep): boolean {
  if (rule === "unreachable" || rule === "tls" || rule === "no_answer" || rule === "token_refused")
    return true;
  return rule === "status" && (httpStatus === 404 || httpStatus >= 500);
}
