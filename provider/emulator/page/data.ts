import type { ConversationView, EmulatorEvent, WorkspaceView } from "../control/shapes.js";
import type { FaultView } from "../faults.js";
import type { MessageRecord } from "../state.js";
import { keyOf, type Exchange } from "./wire.js";

/** What the page shows. Records of other workspaces and messages of other conversations are not kept. */
export interface Scope {
  workspace: string | null;
  conversation: string | null;
}

/** What the page knows of the emulator. */
export interface Data {
  scope: Scope;
  /** By name. */
  workspaces: ReadonlyMap<string, WorkspaceView>;
  /** By id. */
  conversations: ReadonlyMap<string, ConversationView>;
  /** The messages of the conversation in scope, by id. */
  messages: ReadonlyMap<string, MessageRecord>;
  /** The exchanges of the workspace in scope, by kind and id. */
  exchanges: ReadonlyMap<string, Exchange>;
  faults: readonly FaultView[];
}

/** A page that stays open for days keeps this many messages, and this many exchanges. */
const MAX_RECORDS = 3000;

/** A page that knows nothing yet. */
export function emptyData(scope: Scope = { workspace: null, conversation: null }): Data {
  const none = new Map<string, never>();
  return { scope, workspaces: none, conversations: none, messages: none, exchanges: none, faults: [] };
}

/**
 * What the page knows after these events. Applying an event twice does no harm. Removals are not applied: everything
 * is loaded again.
 */
export function applyEvents(data: Data, events: readonly EmulatorEvent[]): Data {
  let { faults } = data;
  const [workspaces, conversations] = [new Map(data.workspaces), new Map(data.conversations)];
  const [messages, exchanges] = [new Map(data.messages), new Map(data.exchanges)];
  const add = (exchange: Exchange): void => {
    const { kind, record } = exchange;
    if (record.workspace === data.scope.workspace) exchanges.set(keyOf(kind, record.id), exchange);
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
  dropOldest(messages);
  dropOldest(exchanges);
  return { scope: data.scope, workspaces, conversations, messages, exchanges, faults };
}

function dropOldest(records: Map<string, unknown>): void {
  for (const key of records.keys()) if (records.size > MAX_RECORDS) records.delete(key);
}
