import { deserialize, serialize } from "node:v8";
import type { Conversation } from "../conversations.js";
import type { DeliveryRecord, HandshakeRecord, MessageRecord, RecordedRequest } from "../records.js";
import type { WorkspaceState } from "../workspace-state.js";

/** A workspace without its lists, which have rows of their own, and without what only a running emulator has. */
export type KeptWorkspace = Omit<
  WorkspaceState,
  "handshakes" | "deliveries" | "conversations" | "requestTimes" | "lastCall"
>;

/** A conversation, likewise. */
export type KeptConversation = Pick<
  Conversation,
  "id" | "order" | "workspace" | "contactId" | "contactName" | "conversationId" | "lastAt"
>;

/** What concerns the whole. */
export interface KeptMeta {
  /** The `order` of the last record, also of one that was forgotten: no id is given twice. */
  lastOrder: number;
  /** Where the bot host was: bots that were there move with it. */
  botOrigin: string;
}

/** What the rows of each kind hold. */
export interface KeptRecords {
  meta: KeptMeta;
  workspace: KeptWorkspace;
  conversation: KeptConversation;
  message: MessageRecord;
  handshake: HandshakeRecord;
  delivery: DeliveryRecord;
  request: RecordedRequest;
}

export type KeptKind = keyof KeptRecords;

export function keepWorkspace(workspace: WorkspaceState): KeptWorkspace {
  const {
    handshakes: _handshakes,
    deliveries: _deliveries,
    conversations: _conversations,
    requestTimes: _requestTimes,
    lastCall: _lastCall,
    ...kept
  } = workspace;
  return kept;
}

export function keepConversation(conversation: Conversation): KeptConversation {
  const { id, order, workspace, contactId, contactName, conversationId, lastAt } = conversation;
  return { id, order, workspace, contactId, contactName, conversationId, lastAt };
}

/** Not JSON: dates, bytes and integers of any size stay what they are. */
export const encode = (record: KeptRecords[KeptKind]): Uint8Array => serialize(record);

export const decode = (data: Uint8Array): unknown => deserialize(data);
