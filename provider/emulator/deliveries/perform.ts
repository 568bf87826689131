import { SIGNATURE_HEADER, signBody } from "../../responder/signature.js";
import { decodeBody, keyOf, recordCopy } from "../conversations.js";
import type { DeliveryFault } from "../faults.js";
import {
  describeStatus,
  describeTimeout,
  NO_RESPONSE,
  pause,
  post,
  type Outgoing,
  type OutgoingRequest,
  type OutgoingResult,
} from "../service/outgoing.js";
import { deliverableRegistration, type DeliveryRecord, type Place } from "../state.js";
import type { Reading } from "../switches.js";
import type { TurnEnd } from "./queue.js";

/** A delivery with everything that its attempts need. */
export interface DeliveryJob extends Place {
  delivery: DeliveryRecord;
  /** Time limit of one attempt. Default: `deliveryTimeoutMs` of the emulator. */
  timeoutMs?: number | undefined;
  /** Sent instead of the right signature. */
  signature?: string | undefined;
}

/** Attempts a delivery until it has a verdict. When the emulator closes it stays pending. */
export async function performDelivery(job: DeliveryJob, again: boolean): Promise<TurnEnd> {
  const { state, workspace } = job;
  let except: DeliveryFault | undefined = again ? "reorder" : undefined;
  while (await waitForAttempt(job)) {
    const fault = state.faults.take("delivery", workspace.name, except);
    if (fault === "reorder") return "after-next";
    // Only the first attempt can be overtaken.
    except = "reorder";
    await attempt(job, fault);
    if (fault === "duplicate") await performCopy(job);
  }
  return "done";
}

async function performCopy(job: DeliveryJob): Promise<void> {
  if (job.conversation.queue.ended.aborted) return;
  const copy = { ...job, delivery: recordCopy(job, job.delivery) };
  while (await waitForAttempt(copy)) await attempt(copy, undefined);
}

/** Waits until an attempt is due. Returns false if none is to be made. */
async function waitForAttempt(job: DeliveryJob): Promise<boolean> {
  const { state, conversation, delivery } = job;
  if (delivery.verdict !== "pending") return false;
  await pause(Date.parse(delivery.dueAt) - Date.now(), conversation.queue.ended);
  if (state.outgoing.closing.aborted) return false;
  if (isHeld(job) && !conversation.queue.ended.aborted) return true;
  // Not published: it is gone with its conversation.
  delivery.verdict = "failed";
  delivery.reason = "its workspace or its conversation was removed";
  return false;
}

function isHeld({ state: { directory }, workspace, conversation }: DeliveryJob): boolean {
  const isKnown = directory.get(workspace.name) === workspace;
  return isKnown && workspace.conversations.get(keyOf(conversation)) === conversation;
}

async function attempt(job: DeliveryJob, fault: DeliveryFault | undefined): Promise<void> {
  const { state, conversation, delivery } = job;
  const at = new Date().toISOString();
  const begun = performance.now();
  const result = await send(job, fault);
  // Whether the endpoint accepted it is then unknown: a restart attempts it again.
  if (conversation.queue.ended.aborted || !isHeld(job)) return;
  const durationMs = performance.now() - begun;
  const reason = judgeResponse(result, state.settings.deliveryResponse);
  const response = "reason" in result ? null : result;
  delivery.attempts.push({ at, durationMs, response, reason, fault: fault ? JSON.stringify(fault) : "" });
  delivery.reason = reason;
  if (response) delivery.status = response.status;
  else delete delivery.status;
  conclude(job);
  state.changes.publish({ type: "delivery", delivery });
}

/** Each attempt looks up the URL and the key again, because the registration may have changed since the last. */
async function send(job: DeliveryJob, fault: DeliveryFault | undefined): Promise<OutgoingResult> {
  const { state, workspace, conversation, delivery } = job;
  const registration = deliverableRegistration(workspace, state.settings);
  if (!registration) return { reason: "no verified webhook is registered any more" };
  const { webhook_url: url, webhook_verification_key: key } = registration;
  const body = decodeBody(delivery);
  const right = await signBody(key, body);
  const repeated = delivery.resendOf === null ? undefined : delivery.request.headers[SIGNATURE_HEADER];
  const signature =
    fault === "wrong-signature" ? await signBody(`not ${key}`, body) : (job.signature ?? repeated ?? right);
  const headers = {
    "content-type": "application/json",
    [SIGNATURE_HEADER]: signature,
    "x-flow-ns": workspace.flowNs,
    "x-action": "messages",
  };
  delivery.url = url;
  delivery.signature = signature === right ? "right" : "wrong";
  delivery.request = { headers, body: delivery.request.body };
  const timeoutMs = job.timeoutMs ?? state.settings.deliveryTimeoutMs;
  const outgoing = { ...state.outgoing, closing: conversation.queue.ended };
  return postWithFault(outgoing, { url, headers, body, timeoutMs }, fault);
}

/** Returns why a response does not mean that the delivery was accepted; empty if it does. */
function judgeResponse(result: OutgoingResult, reading: Reading<"deliveryResponse">): string {
  if ("reason" in result) return result.reason;
  const { status } = result;
  if (reading === "any" || status === 200) return "";
  return describeStatus(status) || (reading === "200" ? `answered HTTP ${status}: only 200 counts` : "");
}

const MAX_PAUSE_MS = 24 * 60 * 60 * 1000;

function conclude({ state, delivery }: DeliveryJob): void {
  const { deliveryAttempts, deliveryRetryMs } = state.settings;
  const attempts = delivery.attempts.length;
  if (delivery.reason === "") delivery.verdict = "delivered";
  else if (attempts >= deliveryAttempts) delivery.verdict = "failed";
  else {
    const pauseMs = Math.min(deliveryRetryMs * 2 ** (attempts - 1), MAX_PAUSE_MS);
    delivery.dueAt = new Date(Date.now() + pauseMs).toISOString();
  }
}

/** Posts a delivery as far as the fault allows. Faults of signature and order are handled above. */
async function postWithFault(
  outgoing: Outgoing,
  sent: OutgoingRequest,
  fault: DeliveryFault | undefined,
): Promise<OutgoingResult> {
  const { body, timeoutMs } = sent;
  if (fault === "close-before") return NO_RESPONSE;
  if (fault === "broken-json") return post(outgoing, { ...sent, body: Buffer.from(body).subarray(0, -4) });
  if (fault === "truncated" || fault === "close-after") {
    const cutAt = fault === "truncated" ? Math.floor(Buffer.byteLength(body) / 2) : undefined;
    await post(outgoing, { ...sent, cutAt });
    return NO_RESPONSE;
  }
  if (typeof fault !== "object") return post(outgoing, sent);
  const early = fault.afterChange ? await post(outgoing, sent) : undefined;
  if ("status" in fault) return { status: fault.status, headers: {}, body: fault.body ?? "" };
  await pause(early ? Math.min(fault.delayMs, timeoutMs) : fault.delayMs, outgoing.closing);
  if (early && fault.delayMs >= timeoutMs) return { reason: describeTimeout(timeoutMs) };
  return early ?? post(outgoing, sent);
}
