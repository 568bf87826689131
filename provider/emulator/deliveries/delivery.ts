import type { OutboundMessage } from "../../../schema/outbound.js";
import { addMessage, getOrCreateConversation, withDigits } from "../conversations.js";
import { invalidOption } from "../errors.js";
import type { ReplyContent } from "../flows/flow.js";
import {
  deliverableRegistration,
  nextRecord,
  type Conversation,
  type DeliveryRecord,
  type EmulatorState,
  type MessageRecord,
  type WorkspaceState,
} from "../state.js";
import { performDelivery, type DeliveryJob } from "./perform.js";
import { encodeBody, encodeMessage, recordCopy, recordDelivery, type SentBody } from "./record.js";

export interface DeliveryOptions {
  /** Time limit of one try. Default: `deliveryTimeoutMs` of the emulator. */
  timeoutMs?: number;
  /** Sent as `X-Hub-Signature-256` in place of the right signature. */
  signature?: string;
  /** The exact bytes to sign and send, in place of the message as JSON. */
  body?: string | Uint8Array;
}

/**
 * Signs a message and posts it to the registered URL (section 6.2), in order within its conversation, where it is recorded as
 * the flow's. Resolves when it is done: a webhook that does not take it is a verdict, not an error, and so is the emulator's
 * end. Throws `invalid_config` if no webhook takes deliveries.
 */
export async function deliverMessage(
  state: EmulatorState,
  workspace: WorkspaceState,
  message: OutboundMessage,
  { body, ...options }: DeliveryOptions = {},
): Promise<DeliveryRecord> {
  const { settings } = state;
  const registration = deliverableRegistration(workspace, settings);
  if (!registration) throw invalidOption(`deliver: workspace "${workspace.name}" has no verified webhook`);
  const party = { contactId: message.sender_id, conversationId: message.conv_id };
  const conversation = getOrCreateConversation(state, workspace, party);
  const bytes = body === undefined ? encodeMessage(message, settings.deliveryEncoding) : encodeBody(body);
  const outbound = { from: "flow", body: message, bytes, url: registration.webhook_url } as const;
  const { delivery } = recordOutbound(state, workspace, conversation, outbound);
  await queueDelivery({ state, workspace, conversation, delivery, ...options });
  return delivery.verdict === "pending" ? { ...delivery, ...endedByClose } : delivery;
}

/** For who waits for it; the record stays pending, and a restart resumes it. */
const endedByClose = { verdict: "failed", reason: "the emulator was closed" } as const;

interface Reply {
  from: "flow" | "agent";
  content: ReplyContent;
  /** Waited for after the moment at which the reply before it is due. Default 0. */
  delayMs?: number;
}

/** A reply as it was recorded. Its delivery is undefined while no webhook is there to take it. */
interface SentReply {
  message: MessageRecord;
  delivery: DeliveryRecord | undefined;
}

/** Records a reply and its delivery (pending), and queues the delivery behind those of its conversation. */
export function sendReply(
  state: EmulatorState,
  workspace: WorkspaceState,
  conversation: Conversation,
  { from, content, delayMs = 0 }: Reply,
): SentReply {
  const { settings } = state;
  const body = addressReply(conversation, content);
  const registration = deliverableRegistration(workspace, settings);
  if (!registration) return { message: addMessage(state, conversation, { from, body }), delivery: undefined };
  const bytes = encodeMessage(body, settings.deliveryEncoding);
  const dueMs = Math.max(Date.now(), conversation.queue.lastDueMs) + delayMs;
  const outbound = { from, body, bytes, url: registration.webhook_url, dueMs };
  const sent = recordOutbound(state, workspace, conversation, outbound);
  void queueDelivery({ state, workspace, conversation, delivery: sent.delivery });
  return sent;
}

interface Outbound {
  from: Reply["from"];
  body: OutboundMessage;
  bytes: SentBody;
  url: string;
  /** Default: now. */
  dueMs?: number;
}

/** Records a message to the contact and its delivery. */
function recordOutbound(
  state: EmulatorState,
  workspace: WorkspaceState,
  conversation: Conversation,
  { from, body, bytes, url, dueMs = Date.now() }: Outbound,
): { message: MessageRecord; delivery: DeliveryRecord } {
  const numbered = nextRecord(state, "delivery");
  const message = addMessage(state, conversation, { from, body, delivery: numbered.id });
  const delivery = {
    workspace: workspace.name,
    conversation: conversation.id,
    contactId: conversation.contactId,
    conversationId: conversation.conversationId,
    message: withDigits(body),
    url,
    ...bytes,
    dueAt: new Date(dueMs).toISOString(),
    resendOf: null,
  };
  return { message, delivery: recordDelivery(state, workspace, delivery, numbered) };
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

/** How a delivery is sent again. */
interface ResendOptions {
  /** Signs it with the key that is registered now, in place of the signature that it had. */
  sign?: boolean;
  /** Sent in place of its bytes. */
  body?: string | undefined;
}

/**
 * Sends the bytes of a delivery again, with the same headers and signature unless the options change them, behind the other
 * deliveries of its conversation, to the URL that is registered now. The record given back is pending. Throws `invalid_config`
 * if no webhook takes deliveries, there is no signature to repeat yet, or its conversation is no longer there.
 */
export function resendDelivery(
  state: EmulatorState,
  workspace: WorkspaceState,
  delivery: DeliveryRecord,
  { sign = false, body }: ResendOptions = {},
): DeliveryRecord {
  const conversation = [...workspace.conversations.values()].find(({ id }) => id === delivery.conversation);
  if (!conversation) throw invalidOption(`resend: the conversation of delivery ${delivery.id} is gone`);
  const headers = sign ? {} : delivery.request.headers;
  if (!sign && Object.keys(headers).length === 0) {
    throw invalidOption(`resend: delivery ${delivery.id} was not sent yet, so it has no signature to repeat`);
  }
  if (!deliverableRegistration(workspace, state.settings)) {
    throw invalidOption(`resend: workspace "${workspace.name}" has no verified webhook`);
  }
  const { request, base64 } = body === undefined ? delivery : encodeBody(body);
  const copy = recordCopy(state, workspace, delivery, { request: { headers, body: request.body }, base64 });
  void queueDelivery({ state, workspace, conversation, delivery: copy });
  return copy;
}

/** Queues a delivery behind those of its conversation. Resolves when it is done, or the emulator closes; never rejects. */
export function queueDelivery(job: DeliveryJob): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { queue } = job.conversation;
  queue.lastDueMs = Math.max(queue.lastDueMs, Date.parse(job.delivery.dueAt));
  queue.deliver(async (again) => {
    let end: Awaited<ReturnType<typeof performDelivery>> = "done";
    try {
      end = await performDelivery(job, again);
      return end;
    } finally {
      if (end === "done") resolve();
    }
  });
  return promise;
}
