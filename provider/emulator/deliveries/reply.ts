import type { OutboundMessage } from "../../../schema/index.js";
import { addMessage, type Conversation } from "../conversations.js";
import { nextRecord, type EmulatorState } from "../emulator-state.js";
import type { ReplyContent } from "../flows/flow.js";
import type { DeliveryRecord, MessageRecord } from "../records.js";
import { deliverableRegistration, type WorkspaceState } from "../workspace-state.js";
import { encodeMessage } from "./body.js";
import { queueDelivery } from "./delivery.js";
import { recordDelivery } from "./record.js";

export interface Reply {
  from: "flow" | "agent";
  content: ReplyContent;
  /** Waited for after the moment at which the reply before it is due. Default 0. */
  delayMs?: number;
}

/** A reply as it was recorded. Its delivery is undefined while no webhook is there to take it. */
export interface SentReply {
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
    conversation: conversation.id,
    message: body,
    url: registration.webhook_url,
    sent: encodeMessage(body, state.settings.deliveryEncoding),
    dueAt: new Date(Math.max(Date.now(), conversation.turns.lastDueMs) + delayMs),
  };
  const delivery = recordDelivery(state, workspace, known, numbered);
  void queueDelivery({ state, workspace, conversation, delivery });
  return { message, delivery };
}

function addressReply(
  { contactId, conversationId }: Conversation,
  { type, ...content }: ReplyContent,
): OutboundMessage {
  const addressed = { sender_id: contactId, conv_id: conversationId, type };
  return { ...addressed, message_type: "outgoing", private: false, ...content } as OutboundMessage;
}
