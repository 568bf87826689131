import { SIGNATURE_HEADER, signBody } from "../../responder/signature.js";
import { keyOf } from "../conversations.js";
import type { DeliveryFault } from "../faults.js";
import {
  describeStatus,
  describeTimeout,
  pause,
  post,
  type Outgoing,
  type OutgoingRequest,
  type OutgoingResult,
} from "../service/outgoing.js";
import {
  deliverableRegistration,
  type Conversation,
  type DeliveryRecord,
  type EmulatorState,
  type WorkspaceState,
} from "../state.js";
import type { Reading } from "../switches.js";
import { decodeBody, recordCopy } from "./record.js";
import type { TurnEnd } from "./queue.js";

/** A delivery with all that its tries need. */
export interface DeliveryJob {
  state: EmulatorState;
  workspace: WorkspaceState;
  conversation: Conversation;
  delivery: DeliveryRecord;
  /** Time limit of one try, if it is not that of the settings. */
  timeoutMs?: number | undefined;
  /** Sent in place of the right signature. */
  signature?: string | undefined;
}

/** Tries a delivery until it has a verdict. When the emulator closes it stays pending. */
export async function performDelivery(job: DeliveryJob, again: boolean): Promise<TurnEnd> {
  const { state, workspace } = job;
  let except: DeliveryFault | undefined = again ? "reorder" : undefined;
  while (await waitForTry(job)) {
    const fault = state.faults.take("delivery", workspace.name, except);
    if (fault === "reorder") return "after-next";
    // A retry stays where it is.
    except = "reorder";
    await tryOnce(job, fault);
    if (fault === "duplicate") await performCopy(job);
  }
  return "done";
}

async function performCopy(job: DeliveryJob): Promise<void> {
  if (job.conversation.queue.ended.aborted) return;
  const copy = { ...job, delivery: recordCopy(job.state, job.workspace, job.delivery) };
  while (await waitForTry(copy)) await tryOnce(copy, undefined);
}

/** Whether a try is to be made, when its moment has come. */
async function waitForTry(job: DeliveryJob): Promise<boolean> {
  const { state, conversation, delivery } = job;
  if (delivery.verdict !== "pending") return false;
  await pause(Date.parse(delivery.dueAt) - Date.now(), conversation.queue.ended);
  if (state.outgoing.closing.aborted) return false;
  if (isHeld(job) && !conversation.queue.ended.aborted) return true;
  // Not published: it has gone with its conversation.
  delivery.verdict = "failed";
  delivery.reason = "its workspace or its conversation was removed";
  return false;
}

function isHeld({ state: { directory }, workspace, conversation }: DeliveryJob): boolean {
  const isKnown = directory.get(workspace.name) === workspace;
  return isKnown && workspace.conversations.get(keyOf(conversation)) === conversation;
}

async function tryOnce(job: DeliveryJob, fault: DeliveryFault | undefined): Promise<void> {
  const { state, conversation, delivery } = job;
  const at = new Date().toISOString();
  const begun = performance.now();
  const result = await send(job, fault);
  // Whether the endpoint took it is then not known: a restart tries again.
  if (conversation.queue.ended.aborted || !isHeld(job)) return;
  const durationMs = performance.now() - begun;
  const reason = judgeAnswer(result, state.settings.deliveryResponse);
  const response = "reason" in result ? null : result;
  const attempt = { at, durationMs, response, reason, fault: fault ? JSON.stringify(fault) : "" };
  delivery.attempts.push(attempt);
  delivery.reason = reason;
  if (response) delivery.status = response.status;
  else delete delivery.status;
  conclude(job);
  state.changes.publish({ kind: "delivery", delivery });
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
  const outgoing = { dispatcher: state.outgoing.dispatcher, closing: conversation.queue.ended };
  return postWithFault(outgoing, { url, headers, body, timeoutMs }, fault);
}

/** Why an answer does not mean that the endpoint took the delivery; empty if it does. */
function judgeAnswer(result: OutgoingResult, reading: Reading<"deliveryResponse">): string {
  if ("reason" in result) return result.reason;
  const { status } = result;
  if (reading === "any" || status === 200) return "";
  return describeStatus(status) || (reading === "200" ? `answered HTTP ${status}: only 200 counts` : "");
}

const MAX_PAUSE_MS = 24 * 60 * 60 * 1000;

function conclude({ state, delivery }: DeliveryJob): void {
  const { deliveryAttempts, deliveryRetryMs } = state.settings;
  const tries = delivery.attempts.length;
  if (delivery.reason === "") delivery.verdict = "delivered";
  else if (tries >= deliveryAttempts) delivery.verdict = "failed";
  else {
    const pauseMs = Math.min(deliveryRetryMs * 2 ** (tries - 1), MAX_PAUSE_MS);
    delivery.dueAt = new Date(Date.now() + pauseMs).toISOString();
  }
}

const noAnswer: OutgoingResult = { reason: "no answer: the connection was closed" };

/** Posts a delivery as far as the fault lets it. What a fault does to signature and order is not done here. */
async function postWithFault(
  outgoing: Outgoing,
  sent: OutgoingRequest,
  fault: DeliveryFault | undefined,
): Promise<OutgoingResult> {
  switch (fault) {
    case undefined:
    case "wrong-signature":
    case "duplicate":
    case "reorder":
      return post(outgoing, sent);
    case "close-before":
      return noAnswer;
    case "close-after":
      await post(outgoing, sent);
      return noAnswer;
    case "broken-json":
      return post(outgoing, { ...sent, body: Buffer.from(sent.body).subarray(0, -4) });
    case "truncated":
      await post(outgoing, { ...sent, cutAt: Math.floor(Buffer.byteLength(sent.body) / 2) });
      return noAnswer;
    default:
      return "delayMs" in fault ? postLate(outgoing, sent, fault) : postUnheard(outgoing, sent, fault);
  }
}

/** An answer that comes after the time limit is none. */
async function postLate(
  outgoing: Outgoing,
  sent: OutgoingRequest,
  { delayMs, afterChange }: Extract<DeliveryFault, { delayMs: number }>,
): Promise<OutgoingResult> {
  if (!afterChange) {
    await pause(delayMs, outgoing.closing);
    return post(outgoing, sent);
  }
  const result = await post(outgoing, sent);
  await pause(Math.min(delayMs, sent.timeoutMs), outgoing.closing);
  return delayMs < sent.timeoutMs ? result : { reason: describeTimeout(sent.timeoutMs) };
}

/** Another answer than the endpoint's own counts. */
async function postUnheard(
  outgoing: Outgoing,
  sent: OutgoingRequest,
  { status, body = "", afterChange }: Extract<DeliveryFault, { status: number }>,
): Promise<OutgoingResult> {
  if (afterChange) await post(outgoing, sent);
  return { status, headers: {}, body };
}
