import type { InboundMessage, OutboundMessage } from "../../schema/index.js";
import type { EmulatorState } from "./emulator-state.js";
import { nextRecord } from "./emulator-state.js";
import { keep } from "./history.js";
import type { MessageRecord } from "./records.js";
import type { WorkspaceState } from "./workspace-state.js";

/** The messages of one contact under one conversation id, in both directions. */
export interface Conversation {
  readonly id: string;
  readonly order: number;
  readonly workspace: string;
  /** `sender.id` (section 2.3). */
  readonly contactId: string;
  /** `sender.name` of the last message that had one. */
  contactName: string;
  readonly conversationId: number | bigint;
  /** Oldest first. */
  messages: MessageRecord[];
  lastAt: Date;
  /** Settles when the last delivery that was begun is through: the next one waits for it. */
  lastDelivery: Promise<void>;
}

/** Whom a message is from or to. */
export interface Party {
  contactId: string;
  conversationId: number | bigint;
  contactName?: string;
}

/** The conversation of a contact; begun if there is none. */
export function conversationOf(state: EmulatorState, workspace: WorkspaceState, party: Party): Conversation {
  const key = keyOf(party);
  const known = workspace.conversations.get(key);
  if (known) return known;
  const conversation: Conversation = {
    ...nextRecord(state, "conversation"),
    workspace: workspace.name,
    contactId: party.contactId,
    contactName: party.contactName ?? "",
    conversationId: party.conversationId,
    messages: [],
    lastAt: new Date(),
    lastDelivery: Promise.resolve(),
  };
  workspace.conversations.set(key, conversation);
  return conversation;
}

/** Its place in `WorkspaceState.conversations`. */
export function keyOf({ contactId, conversationId }: Party): string {
  return `${conversationId} ${contactId}`;
}

interface NewMessage {
  from: MessageRecord["from"];
  body: InboundMessage | OutboundMessage;
  /** Whether the flow still has to answer it. */
  unanswered?: boolean;
}

/** Adds a message to a conversation and tells of both. */
export function addMessage(
  state: EmulatorState,
  conversation: Conversation,
  { from, body, unanswered = false }: NewMessage,
): MessageRecord {
  const message: MessageRecord = {
    ...nextRecord(state, "message"),
    at: new Date(),
    workspace: conversation.workspace,
    conversation: conversation.id,
    from,
    body,
    delivery: undefined,
    unanswered,
  };
  keep(conversation.messages, message);
  conversation.lastAt = message.at;
  if ("sender" in body && body.sender.name !== "") conversation.contactName = body.sender.name;
  state.changes.publish({ kind: "conversation", conversation });
  state.changes.publish({ kind: "message", message });
  return message;
}
