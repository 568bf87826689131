import type { OutboundMessage } from "../../../schema/outbound.js";
import { toPhpJson } from "../../lib/redact.js";
import { SIGNATURE_HEADER, signBody } from "../../responder/internal.js";
import { addMessage, getOrCreateConversation, withDigits } from "../conversations.js";
import { invalidOption } from "../usage-errors.js";
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
import {
  deliverableRegistration,
  keep,
  nextRecord,
  type DeliveryRecord,
  type EmulatorState,
  type MessageRecord,
  type Place,
  type WorkspaceState,
} from "../state.js";
import type { Reading } from "../open-point-options.js";
import type { TurnEnd } from "./queue.js";

/** See `Workspace.deliver`. Does not throw if the endpoint rejects the delivery or the emulator closes. */
export async function deliverMessage(
  state: EmulatorState,
  workspace: WorkspaceState,
  message: OutboundMessage,
): Promise<DeliveryRecord> {
  const url = requireUrl(state, workspace, "deliver");
  const party = { contactId: message.sender_id, conversationId: message.conv_id };
  const place = getOrCreateConversation(state, workspace, party);
  const { delivery, done } = recordAndDeliver(place, "flow", message, url);
  await done;
  return delivery;
}

function requireUrl({ settings }: EmulatorState, workspace: WorkspaceState, method: string): string {
  const registration = deliverableRegistration(workspace, settings);
  if (registration) return registration.webhook_url;
  throw invalidOption(`${method}: workspace "${workspace.name}" has no verified webhook`);
}

type Author = "flow" | "agent";

/** Records a reply, and queues its delivery if a webhook accepts deliveries. */
export function sendReply(
  place: Place,
  from: Author,
  body: OutboundMessage,
): { message: MessageRecord; delivery: DeliveryRecord | null } {
  const registration = deliverableRegistration(place.workspace, place.state.settings);
  if (registration) return recordAndDeliver(place, from, body, registration.webhook_url);
  return { message: addMessage(place, { from, body }), delivery: null };
}

/** Records a message and its delivery, and queues the delivery. `done` resolves when the delivery has its verdict. */
function recordAndDeliver(place: Place, from: Author, body: OutboundMessage, url: string) {
  const json = serializeMessage(body);
  const encoded = place.state.settings.deliveryEncoding === "php" ? toPhpJson(json) : json;
  const request = { headers: {}, body: encoded };
  const delivery = recordDelivery(place, { message: withDigits(body), url, request, resendOf: null });
  const message = addMessage(place, { from, body, delivery: delivery.id });
  return { message, delivery, done: queueDelivery({ ...place, delivery }) };
}

function recordDelivery(
  { state, workspace, conversation }: Place,
  { message, url, request, resendOf }: Pick<DeliveryRecord, "message" | "url" | "request" | "resendOf">,
): DeliveryRecord {
  const delivery: DeliveryRecord = {
    ...nextRecord(state, "delivery"),
    workspace: workspace.name,
    conversation: conversation.id,
    message,
    url,
    request,
    signature: "right",
    verdict: "pending",
    reason: "",
    attempts: [],
    resendOf,
  };
  keep(workspace.deliveries, delivery);
  state.changes.publish({ type: "delivery", delivery });
  return delivery;
}

/** Records a delivery that sends an earlier one again, with the same headers and body. */
const recordCopy = (place: Place, delivery: DeliveryRecord): DeliveryRecord =>
  recordDelivery(place, { ...delivery, resendOf: delivery.id });

/** Like JSON.stringify, but writes all digits of a conversation id beyond the safe integers (a bigint). */
function serializeMessage(message: OutboundMessage): string {
  if (typeof message.conv_id !== "bigint") return JSON.stringify(message);
  const { conv_id, ...rest } = message;
  return JSON.stringify({ ...rest, conv_id: 0 }).replace(/0\}$/, `${conv_id}}`);
}

/**
 * Sends a delivery again to the URL that is registered now, with the same bytes and the same signature, after
 * the other deliveries of its conversation. Returns the new, pending record. Throws `invalid_config` if
 * no webhook accepts deliveries, there is no signature to repeat yet, or the conversation is gone.
 */
export function resendDelivery(
  state: EmulatorState,
  workspace: WorkspaceState,
  delivery: DeliveryRecord,
): DeliveryRecord {
  const conversation = [...workspace.conversations.values()].find(({ id }) => id === delivery.conversation);
  if (!conversation) throw invalidOption(`resend: the conversation of delivery ${delivery.id} is gone`);
  if (Object.keys(delivery.request.headers).length === 0) {
    throw invalidOption(`resend: delivery ${delivery.id} has not been sent, so it has no signature yet`);
  }
  requireUrl(state, workspace, "resend");
  const place = { state, workspace, conversation };
  const copy = recordCopy(place, delivery);
  void queueDelivery({ ...place, delivery: copy });
  return copy;
}

interface DeliveryJob extends Place {
  delivery: DeliveryRecord;
}

/**
 * Queues a delivery after the others of its conversation. Resolves when it is done or the emulator closes;
 * never rejects.
 */
function queueDelivery(job: DeliveryJob): Promise<void> {
  return job.conversation.queue.deliver((again) => performDelivery(job, again));
}

async function performDelivery(job: DeliveryJob, again: boolean): Promise<TurnEnd> {
  const { state, workspace } = job;
  let except: DeliveryFault | undefined = again ? "reorder" : undefined;
  while (await mayAttempt(job)) {
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
  while (await mayAttempt(copy)) await attempt(copy, undefined);
}

/** Waits until the next attempt is due. Returns false if no attempt remains. */
async function mayAttempt({ state, conversation, delivery }: DeliveryJob): Promise<boolean> {
  if (delivery.verdict !== "pending") return false;
  const attempts = delivery.attempts.length;
  const { deliveryRetryMs } = state.settings;
  const pauseMs = attempts === 0 ? 0 : Math.min(deliveryRetryMs * 2 ** (attempts - 1), MAX_PAUSE_MS);
  await pause(pauseMs, conversation.queue.ended);
  if (!conversation.queue.ended.aborted) return true;
  // Not published, because the delivery is gone with its conversation.
  delivery.verdict = "failed";
  delivery.reason = state.outgoing.closing.aborted
    ? "the emulator was closed"
    : "its workspace or its conversation was removed";
  return false;
}

const MAX_PAUSE_MS = 24 * 60 * 60 * 1000;

async function attempt(job: DeliveryJob, fault: DeliveryFault | undefined): Promise<void> {
  const { state, conversation, delivery } = job;
  const at = new Date().toISOString();
  const begun = performance.now();
  const result = await send(job, fault);
  // The attempt was interrupted, so it is unknown whether the endpoint accepted the delivery.
  if (conversation.queue.ended.aborted) return;
  const durationMs = performance.now() - begun;
  const reason = judgeResponse(result, state.settings.deliveryResponse);
  const response = "reason" in result ? null : result;
  delivery.attempts.push({ at, durationMs, response, reason, fault: fault ? JSON.stringify(fault) : "" });
  delivery.reason = reason;
  if (reason === "") delivery.verdict = "delivered";
  else if (delivery.attempts.length >= state.settings.deliveryAttempts) delivery.verdict = "failed";
  state.changes.publish({ type: "delivery", delivery });
  const { id, verdict } = delivery;
  const message = conversation.messages.findLast((one) => one.delivery === id);
  if (message === undefined || verdict === "pending") return;
  message.verdict = verdict;
  state.changes.publish({ type: "message", message });
}

/** Each attempt looks up the URL and the key again, because the registration may have changed since the last. */
async function send(job: DeliveryJob, fault: DeliveryFault | undefined): Promise<OutgoingResult> {
  const { state, workspace, conversation, delivery } = job;
  const registration = deliverableRegistration(workspace, state.settings);
  if (!registration) return { reason: "no verified webhook is registered any more" };
  const { webhook_url: url, webhook_verification_key: key } = registration;
  const { body } = delivery.request;
  const { deliveryTimeoutMs: timeoutMs } = state.settings;
  const right = await signBody(key, body);
  const repeated = delivery.resendOf === null ? undefined : delivery.request.headers[SIGNATURE_HEADER];
  const signature = fault === "wrong-signature" ? await signBody(`not ${key}`, body) : (repeated ?? right);
  const headers = {
    "content-type": "application/json",
    [SIGNATURE_HEADER]: signature,
    "x-flow-ns": workspace.flowNs,
    "x-action": "messages",
  };
  delivery.url = url;
  delivery.signature = signature === right ? "right" : "wrong";
  delivery.request = { headers, body };
  const outgoing = { ...state.outgoing, closing: conversation.queue.ended };
  return postWithFault(outgoing, { url, headers, body, timeoutMs }, fault);
}

/** Returns why the delivery was not accepted; an empty string if it was. */
function judgeResponse(result: OutgoingResult, reading: Reading<"deliveryResponse">): string {
  if ("reason" in result) return result.reason;
  const { status } = result;
  if (reading === "any" || status === 200) return "";
  return describeStatus(status) || (reading === "200" ? `answered HTTP ${status}: it must be 200` : "");
}

/** Posts a delivery as far as the fault allows. The callers handle faults of the signature and the order. */
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
