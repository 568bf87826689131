import { randomBytes } from "node:crypto";
import { request } from "undici";
import { connectionCode } from "../client/attempt.js";
import { readBodyStart } from "../client/body.js";
import { sharedDispatcher } from "../client/dispatcher.js";
import { gateOf } from "../client/origin-gate.js";
import type { HandshakeRule, HandshakeStep } from "../errors.js";
import { quote } from "../redact.js";
import { appendQuery } from "../url.js";

/** How the three parameters of section 6.1 may travel: the specification does not say. */
export const HANDSHAKE_ENCODINGS = ["form", "json", "query"] as const;
export type HandshakeEncoding = (typeof HANDSHAKE_ENCODINGS)[number];

/** How long the endpoint may take to answer, in milliseconds. */
const ANSWER_LIMIT_MS = 10_000;
const READ_BYTES = 4096;
const QUOTED_CHARACTERS = 200;

export interface HandshakeTarget {
  url: string;
  verificationKey: string;
}

/** Performs the handshake once in one encoding, as the service would (section 6.1). Never throws. */
export async function performHandshake(
  target: HandshakeTarget,
  encoding: HandshakeEncoding,
): Promise<HandshakeStep> {
  // Waiting for a free place has no time limit of its own: many webhooks may share one endpoint.
  return gateOf(new URL(target.url).origin).pass(async () => {
    const begun = performance.now();
    const outcome = await exchange(target, encoding);
    return { encoding, ms: Math.round(performance.now() - begun), ...outcome };
  });
}

type Outcome = Omit<HandshakeStep, "encoding" | "ms">;

async function exchange(target: HandshakeTarget, encoding: HandshakeEncoding): Promise<Outcome> {
  const challenge = randomBytes(16).toString("hex");
  const secrets = [target.verificationKey, challenge];
  const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
  const { url, headers, body } = encode(target, encoding, challenge);
  try {
    const answer = await request(url, {
      method: "POST",
      headers,
      body,
      dispatcher: sharedDispatcher(),
      signal,
    });
    const start = await readBodyStart(answer.body, READ_BYTES);
    const header = (name: string): string => quote(String(answer.headers[name] ?? ""), secrets);
    return judge({
      status: answer.statusCode,
      contentType: header("content-type"),
      location: header("location"),
      isChallenge: start.equals(Buffer.from(challenge)),
      firstBytes: quote(start.toString("utf8"), secrets, QUOTED_CHARACTERS),
    });
  } catch (error) {
    return judgeConnection(error, signal.aborted, secrets);
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

interface Answer {
  status: number;
  contentType: string;
  location: string;
  isChallenge: boolean;
  firstBytes: string;
}

function judge({ status, contentType, location, isChallenge, firstBytes }: Answer): Outcome {
  const rule = brokenRule(status, isChallenge);
  return {
    httpStatus: status,
    ...(contentType === "" ? {} : { contentType }),
    ...(location === "" ? {} : { location }),
    ...(rule === undefined ? {} : { rule, firstBytes }),
  };
}

function brokenRule(status: number, isChallenge: boolean): HandshakeRule | undefined {
  if (status >= 300 && status < 400) return "redirect";
  if (status === 401 || status === 403) return "token_refused";
  if (status < 200 || status > 299) return "status";
  return isChallenge ? undefined : "wrong_challenge";
}

function judgeConnection(error: unknown, timedOut: boolean, secrets: readonly string[]): Outcome {
  if (timedOut) return { rule: "no_answer", connectError: `no answer within ${ANSWER_LIMIT_MS / 1000} s` };
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
