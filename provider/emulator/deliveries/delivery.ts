import type { OutboundMessage } from "../../../schema/outbound.js";
import {
  addMessage,
  encodeBody,
  encodeMessage,
  getOrCreateConversation,
  recordCopy,
  recordDelivery,
  withDigits,
  type SentBody,
} from "../conversations.js";
import { invalidOption } from "../checks.js";
import type { ReplyContent } from "../flows/flow.js";
import {
  deliverableRegistration,
  nextRecord,
  type Conversation,
  type DeliveryRecord,
  type EmulatorState,
  type MessageRecord,
  type Place,
  type WorkspaceState,
} from "../state.js";
import { performDelivery, type DeliveryJob } from "./perform.js";

export interface DeliveryOptions {
  /** Time limit of one attempt. Default: `deliveryTimeoutMs` of the emulator. */
  timeoutMs?: number;
  /** Sent as `X-Hub-Signature-256` instead of the right signature. */
  signature?: string;
  /** The exact bytes to sign and send instead of the message as JSON. */
  body?: string | Uint8Array;
}

/** See `Workspace.deliver`. A rejected delivery is a verdict, not an error, and so is the emulator's end. */
export async function deliverMessage(
  state: EmulatorState,
  workspace: WorkspaceState,
  message: OutboundMessage,
  { body, ...options }: DeliveryOptions = {},
): Promise<DeliveryRecord> {
  const url = requireUrl(state, workspace, "deliver");
  const party = { contactId: message.sender_id, conversationId: message.conv_id };
  const place = getOrCreateConversation(state, workspace, party);
  const bytes = body === undefined ? undefined : encodeBody(body);
  const { delivery } = recordOutbound(place, { from: "flow", body: message, bytes, url });
  await queueDelivery({ ...place, delivery, ...options });
  // The record itself stays pending: a restart resumes it.
  return delivery.verdict === "pending"
    ? { ...delivery, verdict: "failed", reason: "the emulator was closed" }
    : delivery;
}

/** Returns the URL that accepts deliveries now. Throws `invalid_config` if there is none. */
function requireUrl({ settings }: EmulatorState, workspace: WorkspaceState, method: string): string {
  const registration = deliverableRegistration(workspace, settings);
  if (registration) return registration.webhook_url;
  throw invalidOption(`${method}: workspace "${workspace.name}" has no verified webhook`);
}

interface Reply {
  from: "flow" | "agent";
  content: ReplyContent;
  /** Time since the previous reply is due. Default 0. */
  delayMs?: number;
}

/** Records a reply, and queues its delivery if a webhook accepts deliveries. */
export function sendReply(
  place: Place,
  { from, content, delayMs = 0 }: Reply,
): { message: MessageRecord; delivery?: DeliveryRecord } {
  const { state, workspace, conversation } = place;
  const body = addressReply(conversation, content);
  const registration = deliverableRegistration(workspace, state.settings);
  if (!registration) return { message: addMessage(place, { from, body }) };
  const dueMs = Math.max(Date.now(), conversation.queue.lastDueMs) + delayMs;
  const sent = recordOutbound(place, { from, body, url: registration.webhook_url, dueMs });
  void queueDelivery({ ...place, delivery: sent.delivery });
  return sent;
}

interface Outbound {
  from: Reply["from"];
  body: OutboundMessage;
  /** Default: the body as `deliveryEncoding` writes it. */
  bytes?: SentBody | undefined;
  url: string;
  /** Default: now. */
  dueMs?: number;
}

/** Records a message to the contact and its delivery. */
function recordOutbound(
  place: Place,
  { from, body, bytes, url, dueMs = Date.now() }: Outbound,
): { message: MessageRecord; delivery: DeliveryRecord } {
  const { state } = place;
  const numbered = nextRecord(state, "delivery");
  const message = addMessage(place, { from, body, delivery: numbered.id });
  const delivery = {
    message: withDigits(body),
    url,
    ...(bytes ?? encodeMessage(body, state.settings.deliveryEncoding)),
    dueAt: new Date(dueMs).toISOString(),
    resendOf: null,
  };
  return { message, delivery: recordDelivery(place, delivery, numbered) };
}

function addressReply(
  { contactId, conversationId }: Conversation,
  { type, ...content }: ReplyContent,
): OutboundMessage {
  const id = Number(conversationId);
  const conv_id = Number.isSafeInteger(id) ? id : BigInt(conversationId);
  const addressed = { sender_id: contactId, conv_id, type };
  return { ...addressed, message_type: "outgoing", private: false, ...content } as OutboundMessage;
}

interface ResendOptions {
  /** Signs it with the key that is registered now instead of repeating its signature. */
  sign: boolean;
  /** Sent instead of its bytes. */
  body?: string | undefined;
}

/**
 * Sends the bytes of a delivery again, with the same headers and signature unless the options change them, after the other
 * deliveries of its conversation, to the URL that is registered now. Returns the new, pending record. Throws `invalid_config`
 * if no webhook accepts deliveries, there is no signature to repeat yet, or the conversation is gone.
 */
export function resendDelivery(
  state: EmulatorState,
  workspace: WorkspaceState,
  delivery: DeliveryRecord,
  { sign, body }: ResendOptions,
): DeliveryRecord {
  const conversation = [...workspace.conversations.values()].find(({ id }) => id === delivery.conversation);
  if (!conversation) throw invalidOption(`resend: the conversation of delivery ${delivery.id} is gone`);
  const headers = sign ? {} : delivery.request.headers;
  if (!sign && Object.keys(headers).length === 0) {
    throw invalidOption(`resend: delivery ${delivery.id} was not sent yet, so it has no signature to repeat`);
  }
  requireUrl(state, workspace, "resend");
  const { request, base64 } = body === undefined ? delivery : encodeBody(body);
  const place = { state, workspace, conversation };
  const copy = recordCopy(place, delivery, { request: { headers, body: request.body }, base64 });
  void queueDelivery({ ...place, delivery: copy });
  return copy;
}

/** Queues a delivery after the others of its conversation. Resolves when it is done or the emulator closes; never rejects. */
export function queueDelivery(job: DeliveryJob): Promise<void> {
  const { queue } = job.conversation;
  queue.lastDueMs = Math.max(queue.lastDueMs, Date.parse(job.delivery.dueAt));
  return queue.deliver((again) => performDelivery(job, again));
}
