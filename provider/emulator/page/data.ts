import type { ConversationView, EmulatorEvent, WorkspaceView } from "../control/shapes.js";
import type { FaultView } from "../faults.js";
import type { MessageRecord } from "../state.js";
import type { Exchange } from "./wire.js";

/** A contact and a conversation. */
export type Party = Pick<ConversationView, "contactId" | "contactName" | "conversationId">;

/** What the page shows. Records of other workspaces and messages of other conversations are not kept. */
export interface Scope {
  workspace: string | null;
  conversation: string | null;
}

/** The emulator's state, as far as the page knows it. */
export interface Data {
  scope: Scope;
  /** By name. */
  workspaces: ReadonlyMap<string, WorkspaceView>;
  /** By id. */
  conversations: ReadonlyMap<string, ConversationView>;
  /** The messages of the conversation in scope, by id. */
  messages: ReadonlyMap<string, MessageRecord>;
  /** The exchanges of the workspace in scope, by id. */
  exchanges: ReadonlyMap<string, Exchange>;
  faults: readonly FaultView[];
}

/** How many messages are kept. There is a limit because the page may stay open for days. */
const MAX_MESSAGES = 3000;

/** How many of the newest exchanges are kept. More would make the page slow. */
export const MAX_EXCHANGES = 200;

export function emptyData(scope: Scope = { workspace: null, conversation: null }): Data {
  const none = new Map<string, never>();
  return { scope, workspaces: none, conversations: none, messages: none, exchanges: none, faults: [] };
}

/**
 * Returns the page's data after these events. Applying an event twice does no harm. Does not apply a removal,
 * because the page loads everything again after one.
 */
export function applyEvents(data: Data, events: readonly EmulatorEvent[]): Data {
  let { faults } = data;
  const [workspaces, conversations] = [new Map(data.workspaces), new Map(data.conversations)];
  const [messages, exchanges] = [new Map(data.messages), new Map(data.exchanges)];
  const add = (exchange: Exchange): void => {
    const { id, workspace } = exchange.record;
    if (workspace === data.scope.workspace) exchanges.set(id, exchange);
  };
  for (const event of events) {
    if (event.type === "workspace") workspaces.set(event.workspace.name, event.workspace);
    if (event.type === "conversation") conversations.set(event.conversation.id, event.conversation);
    if (event.type === "message" && event.message.conversation === data.scope.conversation) {
      messages.set(event.message.id, event.message);
    }
    if (event.type === "request") add({ kind: event.type, record: event.request });
    if (event.type === "handshake") add({ kind: event.type, record: event.handshake });
    if (event.type === "delivery") add({ kind: event.type, record: event.delivery });
    if (event.type === "faults") ({ faults } = event);
  }
  dropOldest(messages, MAX_MESSAGES);
  dropOldest(exchanges, MAX_EXCHANGES);
  return { ...data, workspaces, conversations, messages, exchanges, faults };
}

function dropOldest(records: Map<string, unknown>, most: number): void {
  for (const key of [...records.keys()].slice(0, -most)) records.delete(key);
}
