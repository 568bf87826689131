import type {
  ConversationView,
  EmulatorEvent,
  FaultView,
  MessageView,
  WorkspaceView,
} from "../control/shapes.js";
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
  messages: ReadonlyMap<string, MessageView>;
  /** The exchanges of the workspace in scope, by kind and id. */
  exchanges: ReadonlyMap<string, Exchange>;
  faults: readonly FaultView[];
}

/** A page that stays open for days keeps this many messages, and this many exchanges. */
const MAX_RECORDS = 3000;

const NOTHING: Scope = { workspace: null, conversation: null };

/** A page that knows nothing yet. */
export function emptyData(scope = NOTHING): Data {
  const none = new Map<string, never>();
  return { scope, workspaces: none, conversations: none, messages: none, exchanges: none, faults: [] };
}

/** What the page knows after these events, in their order. Applying an event twice does no harm. */
export function applyEvents(data: Data, events: readonly EmulatorEvent[]): Data {
  let { scope, faults } = data;
  const [workspaces, conversations] = [new Map(data.workspaces), new Map(data.conversations)];
  const [messages, exchanges] = [new Map(data.messages), new Map(data.exchanges)];
  const add = (exchange: Exchange): void => {
    const { kind, record } = exchange;
    if (record.workspace === scope.workspace) exchanges.set(keyOf(kind, record.id), exchange);
  };
  for (const event of events) {
    switch (event.type) {
      case "workspace":
        workspaces.set(event.workspace.name, event.workspace);
        break;
      case "workspace-removed":
        workspaces.delete(event.name);
        for (const { id, workspace } of conversations.values()) {
          if (workspace === event.name) conversations.delete(id);
        }
        if (scope.workspace === event.name) {
          scope = NOTHING;
          messages.clear();
          exchanges.clear();
        }
        break;
      case "conversation":
        conversations.set(event.conversation.id, event.conversation);
        break;
      case "message":
        if (event.message.conversation === scope.conversation) messages.set(event.message.id, event.message);
        break;
      case "request":
        add({ kind: event.type, record: event.request });
        break;
      case "handshake":
        add({ kind: event.type, record: event.handshake });
        break;
      case "delivery":
        add({ kind: event.type, record: event.delivery });
        break;
      case "faults":
        faults = event.faults;
        break;
      case "reset":
        for (const records of [conversations, messages, exchanges]) records.clear();
        faults = [];
        break;
      case "flow-failed":
      default:
    }
  }
  dropOldest(messages);
  dropOldest(exchanges);
  return { scope, workspaces, conversations, messages, exchanges, faults };
}

function dropOldest(records: Map<string, unknown>): void {
  for (const key of records.keys()) {
    if (records.size <= MAX_RECORDS) return;
    records.delete(key);
  }
}
