import type { InboundMessage, OutboundMessage } from "../../schema/index.js";
import { ConversationTurns } from "./deliveries/turns.js";
import type { EmulatorState } from "./emulator-state.js";
import { nextRecord } from "./emulator-state.js";
import { HISTORY_LIMIT, keep } from "./history.js";
import type { MessageRecord } from "./records.js";
import type { WorkspaceState } from "./workspace-state.js";

/** The messages of one contact under one conversation id, in both directions. */
export interface ConversationRecord {
  readonly id: string;
  readonly order: number;
  readonly workspace: string;
  /** `sender.id` (section 2.3). */
  readonly contactId: string;
  /** `sender.name` of the last message that had one. */
  readonly contactName: string;
  readonly conversationId: number | bigint;
  /** Oldest first. */
  readonly messages: readonly MessageRecord[];
  readonly lastAt: Date;
}

/** A conversation as the emulator holds it. */
export interface Conversation extends ConversationRecord {
  contactName: string;
  messages: MessageRecord[];
  lastAt: Date;
  /** What is done one thing after the other: answers and deliveries. */
  readonly turns: ConversationTurns;
}

/** Whom a message is from or to. */
export interface Party {
  contactId: string;
  conversationId: number | bigint;
  contactName?: string;
}

/** The conversation of a contact; begun if there is none. Of a workspace's too many conversations the one longest silent goes. */
export function conversationOf(state: EmulatorState, workspace: WorkspaceState, party: Party): Conversation {
  const key = keyOf(party);
  const known = workspace.conversations.get(key);
  if (known) {
    workspace.conversations.delete(key);
    workspace.conversations.set(key, known);
    return known;
  }
  const conversation: Conversation = {
    ...nextRecord(state, "conversation"),
    workspace: workspace.name,
    contactId: party.contactId,
    contactName: party.contactName ?? "",
    conversationId: party.conversationId,
    messages: [],
    lastAt: new Date(),
    turns: new ConversationTurns(),
  };
  keepNewest(workspace.conversations).set(key, conversation);
  return conversation;
}

/** The map holds the conversations in the order of their last message from the contact. */
function keepNewest(conversations: Map<string, Conversation>): Map<string, Conversation> {
  const [longestSilent] = conversations.size >= HISTORY_LIMIT ? conversations.keys() : [];
  if (longestSilent !== undefined) conversations.delete(longestSilent);
  return conversations;
}

/** Its place in `WorkspaceState.conversations`. */
export function keyOf({ contactId, conversationId }: Party): string {
  return `${conversationId} ${contactId}`;
}

interface NewMessage {
  from: MessageRecord["from"];
  body: InboundMessage | OutboundMessage;
  /** The id of a reply's delivery. */
  delivery?: string;
  /** Whether the flow still has to answer it. */
  unanswered?: boolean;
}

/** Adds a message to a conversation and tells of both. */
export function addMessage(
  state: EmulatorState,
  conversation: Conversation,
  { from, body, delivery, unanswered = false }: NewMessage,
): MessageRecord {
  const message: MessageRecord = {
    ...nextRecord(state, "message"),
    at: new Date(),
    workspace: conversation.workspace,
    conversation: conversation.id,
    from,
    body,
    delivery,
    unanswered,
  };
  keep(conversation.messages, message);
  conversation.lastAt = message.at;
  if ("sender" in body && body.sender.name !== "") conversation.contactName = body.sender.name;
  state.changes.publish({ kind: "conversation", conversation });
  state.changes.publish({ kind: "message", message });
  return message;
}
