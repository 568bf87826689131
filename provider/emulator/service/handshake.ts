import { randomBytes, randomInt } from "node:crypto";
import { CAUSES, causeOfAnswer, causeOfFailure } from "../../diagnosis/internal.js";
import { sleep } from "../../lib/abort.js";
import { encodeHandshake } from "../../lib/handshake-encoding.js";
import type { AnswerFault } from "../faults.js";
import {
  keep,
  nextRecord,
  type EmulatorState,
  type HandshakeRecord,
  type RegisteredWebhook,
  type WorkspaceState,
} from "../state.js";
import type { Reading } from "../open-point-options.js";
import {
  describeStatus,
  describeTimeout,
  NO_RESPONSE,
  post,
  type Outgoing,
  type OutgoingRequest,
  type OutgoingResult,
} from "./outgoing.js";

type Settings = Reading<"handshake">;

const makeChallenge: Record<Settings["challenge"], () => string> = {
  hex: () => randomBytes(16).toString("hex"),
  digits: () => String(randomInt(1_000_000_000, 10_000_000_000)),
  long: () => randomBytes(768).toString("base64"),
};

/** Performs one handshake (section 6.1) and returns its record. If it fails, `verdict` is `failed`. */
export async function performHandshake(
  state: EmulatorState,
  workspace: WorkspaceState,
  { webhook_url: url, webhook_verification_key: token }: Omit<RegisteredWebhook, "webhook_status">,
): Promise<HandshakeRecord> {
  const { encoding, challenge: kind, timeoutMs } = state.settings.handshake;
  const fault = state.faults.take("handshake", workspace.name);
  const challenge = makeChallenge[kind]();
  const at = new Date().toISOString();
  const begun = performance.now();
  // An invalid URL fails when the request is sent.
  const request =
    URL.parse(url) === null
      ? { url, headers: {}, body: "" }
      : encodeHandshake(url, { encoding, token, challenge });
  const sent = { ...request, timeoutMs };
  const result = await exchange(state.outgoing, sent, fault);
  const durationMs = performance.now() - begun;
  const reason = findReason(result, challenge);
  const handshake: HandshakeRecord = {
    ...nextRecord(state, "handshake"),
    at,
    workspace: workspace.name,
    encoding,
    url: sent.url,
    challenge,
    verdict: reason === "" ? "passed" : "failed",
    reason,
    hint: reason === "" || fault !== undefined ? "" : findHint(result, challenge),
    fault: fault === undefined ? "" : JSON.stringify(fault),
    request: { headers: sent.headers, body: sent.body },
    response: "status" in result ? result : null,
    durationMs,
  };
  keep(workspace.handshakes, handshake);
  state.changes.publish({ type: "handshake", handshake });
  return handshake;
}

async function exchange(
  outgoing: Outgoing,
  sent: OutgoingRequest,
  fault: AnswerFault | undefined,
): Promise<OutgoingResult> {
  const { timeoutMs } = sent;
  if (fault === undefined) return post(outgoing, sent);
  if (fault === "close-after") await post(outgoing, sent);
  if (typeof fault === "string") {
    const isAnswered = fault === "html" || fault === "broken-json";
    return isAnswered ? { status: 200, headers: {}, body: fault } : NO_RESPONSE;
  }
  if ("status" in fault) return { status: fault.status, headers: {}, body: fault.body ?? "" };
  if ("statusField" in fault) return { status: 200, headers: {}, body: fault.statusField };
  await sleep(Math.min(fault.delayMs, timeoutMs), outgoing.closing);
  const leftMs = timeoutMs - fault.delayMs;
  return leftMs > 0 ? post(outgoing, { ...sent, timeoutMs: leftMs }) : { reason: describeTimeout(timeoutMs) };
}

function findReason(result: OutgoingResult, challenge: string): string {
  if ("reason" in result) return result.reason;
  const { status, body } = result;
  return describeStatus(status) || (body === challenge ? "" : "the response body is not the challenge");
}

/** How to fix a failed handshake, as `apichat verify` prints it. */
function findHint(result: OutgoingResult, challenge: string): string {
  if ("reason" in result) return CAUSES[causeOfFailure(result.error)].hint;
  const cause = causeOfAnswer({ ...result, body: Buffer.from(result.body) }, challenge);
  return CAUSES[cause ?? "other_status"].hint;
}
