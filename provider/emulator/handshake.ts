import { randomBytes, randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { encodeHandshake } from "../lib/handshake-encoding.js";
import type { AnswerFault } from "./faults.js";
import type { Challenge, HandshakeEncoding } from "./switches.js";
import {
  describeStatus,
  describeTimeout,
  post,
  type Outgoing,
  type OutgoingRequest,
  type OutgoingResult,
} from "./outgoing.js";
import type { HandshakeRecord } from "./records.js";

export interface HandshakeTarget {
  webhookUrl: string;
  verificationKey: string;
  encoding: HandshakeEncoding;
  challenge: Challenge;
  timeoutMs: number;
  /** Strikes this handshake. */
  fault: AnswerFault | undefined;
}

const makeChallenge: Record<Challenge, () => string> = {
  hex: () => randomBytes(16).toString("hex"),
  digits: () => String(randomInt(1_000_000_000, 10_000_000_000)),
  long: () => randomBytes(768).toString("base64"),
};

/** Performs one handshake (section 6.1) and tells its verdict; a failed one is a verdict, not an error. */
export async function performHandshake(
  outgoing: Outgoing,
  target: HandshakeTarget,
): Promise<Omit<HandshakeRecord, "id" | "order" | "workspace">> {
  const challenge = makeChallenge[target.challenge]();
  const at = new Date();
  const begun = performance.now();
  const sent = encode(target, challenge);
  const result = await exchange(outgoing, target, sent);
  const reason = findReason(result, challenge);
  return {
    at,
    durationMs: performance.now() - begun,
    sent: { headers: sent.headers, body: sent.body },
    received: "status" in result ? result : undefined,
    encoding: target.encoding,
    url: target.webhookUrl,
    challenge,
    verdict: reason === "" ? "passed" : "failed",
    reason,
    status: "status" in result ? result.status : undefined,
  };
}

async function exchange(
  outgoing: Outgoing,
  target: HandshakeTarget,
  sent: OutgoingRequest,
): Promise<OutgoingResult> {
  const { fault, timeoutMs } = target;
  if (fault === undefined) return post(outgoing, sent);
  if (fault === "close-after") {
    await post(outgoing, sent);
    return { reason: "no answer: the connection was closed" };
  }
  if (typeof fault === "object" && "delayMs" in fault) {
    await sleep(Math.min(fault.delayMs, timeoutMs), undefined, { signal: outgoing.closing });
    const leftMs = timeoutMs - fault.delayMs;
    return leftMs > 0
      ? post(outgoing, { ...sent, timeoutMs: leftMs })
      : { reason: describeTimeout(timeoutMs) };
  }
  return imagineAnswer(fault);
}

/** What a fault makes the webhook URL answer. */
function imagineAnswer(fault: Exclude<AnswerFault, { delayMs: number }>): OutgoingResult {
  if (typeof fault === "object") {
    return "status" in fault
      ? { status: fault.status, headers: {}, body: fault.body ?? "" }
      : { status: 200, headers: {}, body: fault.statusField };
  }
  if (fault === "html" || fault === "broken-json") return { status: 200, headers: {}, body: fault };
  return { reason: "no answer: the connection was closed" };
}

function findReason(result: OutgoingResult, challenge: string): string {
  if ("reason" in result) return result.reason;
  const { status, body } = result;
  return describeStatus(status) || (body === challenge ? "" : "the body of the answer is not the challenge");
}

/** A URL that cannot be parsed is left to fail when it is sent. */
function encode(
  { webhookUrl: url, verificationKey: token, encoding, timeoutMs }: HandshakeTarget,
  challenge: string,
): OutgoingRequest & { body: string } {
  if (!URL.canParse(url)) return { url, headers: {}, body: "", timeoutMs };
  return { ...encodeHandshake(url, { encoding, token, challenge }), timeoutMs };
}
