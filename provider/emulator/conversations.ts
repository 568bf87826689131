import type { InboundMessage } from "../../schema/inbound.js";
import type { OutboundMessage } from "../../schema/outbound.js";
import { ConversationQueue } from "./deliveries/queue.js";
import {
  HISTORY_LIMIT,
  keep,
  nextRecord,
  type Conversation,
  type EmulatorState,
  type MessageRecord,
  type WorkspaceState,
} from "./state.js";

/** Whom a message is from or to. */
export interface Party {
  contactId: string;
  conversationId: number | bigint;
  contactName?: string;
}

/** Returns a contact's conversation, creating it if needed. If a workspace has too many, the one idle longest is dropped. */
export function getOrCreateConversation(
  state: EmulatorState,
  workspace: WorkspaceState,
  party: Party,
): Conversation {
  const { conversations } = workspace;
  const { contactId, contactName = "" } = party;
  const conversationId = String(party.conversationId);
  const key = keyOf({ contactId, conversationId });
  const known = conversations.get(key);
  if (known) {
    conversations.delete(key);
    conversations.set(key, known);
    return known;
  }
  const conversation: Conversation = {
    ...nextRecord(state, "conversation"),
    workspace: workspace.name,
    contactId,
    contactName,
    conversationId,
    lastAt: new Date().toISOString(),
    messages: [],
    queue: new ConversationQueue(state.outgoing.closing),
  };
  if (conversations.size >= HISTORY_LIMIT) dropLongestSilent(state, conversations);
  conversations.set(key, conversation);
  return conversation;
}

function dropLongestSilent({ changes }: EmulatorState, conversations: Map<string, Conversation>): void {
  const [entry] = conversations;
  if (entry === undefined) return;
  const [key, conversation] = entry;
  conversations.delete(key);
  changes.publish({ kind: "conversation-dropped", conversation });
}

/** Its place in `WorkspaceState.conversations`. */
export function keyOf({
  contactId,
  conversationId,
}: Pick<Conversation, "contactId" | "conversationId">): string {
  return `${conversationId} ${contactId}`;
}

/** A message as it is recorded. JSON has no bigint, and a number would lose digits. */
export function withDigits(message: OutboundMessage): OutboundMessage {
  if (typeof message.conv_id !== "bigint") return message;
  const shown: object = { ...message, conv_id: String(message.conv_id) };
  return shown as OutboundMessage;
}

interface NewMessage {
  from: MessageRecord["from"];
  body: InboundMessage | OutboundMessage;
  /** The id of a reply's delivery. */
  delivery?: string;
  /** Whether the flow still has to answer it. */
  unanswered?: boolean;
}

/** Adds a message to a conversation and reports both. */
export function addMessage(
  state: EmulatorState,
  conversation: Conversation,
  { from, body, delivery, unanswered = false }: NewMessage,
): MessageRecord {
  const message: MessageRecord = {
    ...nextRecord(state, "message"),
    at: new Date().toISOString(),
    workspace: conversation.workspace,
    conversation: conversation.id,
    from,
    body: "conv_id" in body ? withDigits(body) : body,
    delivery: delivery ?? null,
    unanswered,
  };
  keep(conversation.messages, message);
  conversation.lastAt = message.at;
  if ("sender" in body && body.sender.name !== "") conversation.contactName = body.sender.name;
  state.changes.publish({ kind: "conversation", conversation });
  state.changes.publish({ kind: "message", message });
  return message;
}
