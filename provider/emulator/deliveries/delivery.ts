import type { OutboundMessage } from "../../../schema/outbound.js";
import { addMessage, conversationOf } from "../conversations.js";
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
import { encodeBody, encodeMessage, recordCopy, recordDelivery } from "./record.js";

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
  const registration = deliverableRegistration(workspace, state.settings);
  if (!registration) throw invalidOption(`deliver: workspace "${workspace.name}" has no verified webhook`);
  const party = { contactId: message.sender_id, conversationId: message.conv_id };
  const conversation = conversationOf(state, workspace, party);
  const numbered = nextRecord(state, "delivery");
  addMessage(state, conversation, { from: "flow", body: message, delivery: numbered.id });
  const sent =
    body === undefined ? encodeMessage(message, state.settings.deliveryEncoding) : encodeBody(body);
  const known = { message, url: registration.webhook_url, sent, dueAt: new Date() };
  const delivery = recordDelivery(state, workspace, conversation, known, numbered);
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
  const body = addressReply(conversation, content);
  const registration = deliverableRegistration(workspace, state.settings);
  if (!registration) return { message: addMessage(state, conversation, { from, body }), delivery: undefined };
  const numbered = nextRecord(state, "delivery");
  const message = addMessage(state, conversation, { from, body, delivery: numbered.id });
  const known = {
    message: body,
    url: registration.webhook_url,
    sent: encodeMessage(body, state.settings.deliveryEncoding),
    dueAt: new Date(Math.max(Date.now(), conversation.turns.lastDueMs) + delayMs),
  };
  const delivery = recordDelivery(state, workspace, conversation, known, numbered);
  void queueDelivery({ state, workspace, conversation, delivery });
  return { message, delivery };
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
  const headers = sign ? {} : delivery.sent.headers;
  if (!sign && Object.keys(headers).length === 0) {
    throw invalidOption(`resend: delivery ${delivery.id} was not sent yet, so it has no signature to repeat`);
  }
  if (!deliverableRegistration(workspace, state.settings)) {
    throw invalidOption(`resend: workspace "${workspace.name}" has no verified webhook`);
  }
  const { base64 } = body === undefined ? delivery : encodeBody(body);
  const sent = { headers, body: body ?? delivery.sent.body };
  const copy = recordCopy(state, workspace, delivery, { sent, base64 });
  void queueDelivery({ state, workspace, conversation, delivery: copy });
  return copy;
}

/** Queues a delivery behind those of its conversation. Resolves when it is done, or the emulator closes; never rejects. */
export function queueDelivery(job: DeliveryJob): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { turns } = job.conversation;
  turns.lastDueMs = Math.max(turns.lastDueMs, Date.parse(job.delivery.dueAt));
  turns.deliver(async (again) => {
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
