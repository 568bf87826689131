import type { OutboundMessage } from "../../schema/outbound.js";
import { ConversationQueue } from "./deliveries/queue.js";
import {
  HISTORY_LIMIT,
  keep,
  nextRecord,
  type EmulatorState,
  type MessageRecord,
  type Place,
  type WorkspaceState,
} from "./state.js";

/** The sender or recipient of a message. */
interface Party {
  contactId: string;
  conversationId: number | bigint;
  contactName?: string;
}

/**
 * Returns a contact's conversation, creating it if needed. If the workspace then has too many conversations,
 * drops the one that has been idle longest.
 */
export function getOrCreateConversation(
  state: EmulatorState,
  workspace: WorkspaceState,
  { contactId, contactName = "", conversationId: id }: Party,
): Place {
  const conversationId = String(id);
  const key = `${conversationId} ${contactId}`;
  const { conversations, name } = workspace;
  let conversation = conversations.get(key);
  if (conversation === undefined) {
    const { at: lastAt, ...numbered } = nextRecord(state, "conversation");
    const queue = new ConversationQueue(state.outgoing.closing);
    const party = { contactId, contactName, conversationId };
    conversation = { ...numbered, workspace: name, ...party, lastAt, messages: [], queue };
  }
  // The map is ordered by last use.
  conversations.delete(key);
  const [idle] = conversations.size < HISTORY_LIMIT ? [] : conversations;
  if (idle) {
    conversations.delete(idle[0]);
    void idle[1].queue.end();
  }
  conversations.set(key, conversation);
  return { state, workspace, conversation };
}

/** Returns a message as it is recorded: a bigint becomes a string, because a number would lose digits. */
export function withDigits(message: OutboundMessage): OutboundMessage {
  if (typeof message.conv_id !== "bigint") return message;
  const shown: object = { ...message, conv_id: String(message.conv_id) };
  return shown as OutboundMessage;
}

type NewMessage = Pick<MessageRecord, "from" | "body"> & Partial<Pick<MessageRecord, "delivery">>;

/** Adds a message to a conversation and publishes both. */
export function addMessage(
  { state, conversation }: Place,
  { from, body, delivery = null }: NewMessage,
): MessageRecord {
  const message: MessageRecord = {
    ...nextRecord(state, "message"),
    workspace: conversation.workspace,
    conversation: conversation.id,
    from,
    body: "conv_id" in body ? withDigits(body) : body,
    delivery,
  };
  keep(conversation.messages, message);
  conversation.lastAt = message.at;
  if ("sender" in body && body.sender.name !== "") conversation.contactName = body.sender.name;
  state.changes.publish({ type: "conversation", conversation });
  state.changes.publish({ type: "message", message });
  return message;
}
