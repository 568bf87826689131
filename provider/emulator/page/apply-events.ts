import type {
  ConversationView,
  DeliveryView,
  EmulatorEvent,
  FaultView,
  HandshakeView,
  MessageView,
  RequestView,
  WorkspaceView,
} from "../control/shapes.js";

/** What the page shows. Records of other workspaces and messages of other conversations are not kept. */
export interface Scope {
  workspace: string | null;
  conversation: string | null;
}

/** What the page knows of the emulator. Every map is by id, workspaces by name. */
export interface Data {
  scope: Scope;
  workspaces: ReadonlyMap<string, WorkspaceView>;
  conversations: ReadonlyMap<string, ConversationView>;
  /** Of the conversation in scope. */
  messages: ReadonlyMap<string, MessageView>;
  /** These three are of the workspace in scope. */
  handshakes: ReadonlyMap<string, HandshakeView>;
  deliveries: ReadonlyMap<string, DeliveryView>;
  requests: ReadonlyMap<string, RequestView>;
  faults: readonly FaultView[];
}

/** A page that stays open for days keeps the newest of each kind. */
const KEPT_RECORDS = 1000;

/** A page that knows nothing yet. */
export function emptyData(scope: Scope = { workspace: null, conversation: null }): Data {
  const none = new Map<string, never>();
  const records = { messages: none, handshakes: none, deliveries: none, requests: none };
  return { scope, workspaces: none, conversations: none, ...records, faults: [] };
}

/** What the page knows after these events, in their order. The same event twice does no harm. */
export function applyEvents(data: Data, events: readonly EmulatorEvent[]): Data {
  return events.reduce(applyEvent, data);
}

function applyEvent(data: Data, event: EmulatorEvent): Data {
  const { workspaces, conversations, messages, handshakes, deliveries, requests, scope } = data;
  switch (event.type) {
    case "workspace":
      return { ...data, workspaces: new Map(workspaces).set(event.workspace.name, event.workspace) };
    case "workspace-removed":
      return removeWorkspace(data, event.name);
    case "conversation":
      return {
        ...data,
        conversations: new Map(conversations).set(event.conversation.id, event.conversation),
      };
    case "message":
      if (event.message.conversation !== scope.conversation) return data;
      return { ...data, messages: keep(messages, event.message) };
    case "handshake":
      if (event.handshake.workspace !== scope.workspace) return data;
      return { ...data, handshakes: keep(handshakes, event.handshake) };
    case "delivery":
      if (event.delivery.workspace !== scope.workspace) return data;
      return { ...data, deliveries: keep(deliveries, event.delivery) };
    case "request":
      if (event.request.workspace !== scope.workspace) return data;
      return { ...data, requests: keep(requests, event.request) };
    case "faults":
      return { ...data, faults: event.faults };
    case "reset":
      return { ...emptyData(scope), workspaces };
    case "flow-failed":
    default:
      return data;
  }
}

function keep<Item extends { id: string }>(records: ReadonlyMap<string, Item>, record: Item) {
  const kept = new Map(records).set(record.id, record);
  const [oldest] = kept.keys();
  if (kept.size > KEPT_RECORDS && oldest !== undefined) kept.delete(oldest);
  return kept;
}

function removeWorkspace(data: Data, name: string): Data {
  const workspaces = new Map([...data.workspaces].filter(([other]) => other !== name));
  const conversations = new Map([...data.conversations].filter(([, { workspace }]) => workspace !== name));
  const rest = data.scope.workspace === name ? { ...emptyData(), faults: data.faults } : data;
  return { ...rest, workspaces, conversations };
}

/** The records of a list by their id, oldest first, the newest that are kept. */
export function byId<Item extends { id: string; order: number }>(list: readonly Item[]): Map<string, Item> {
  const oldestFirst = list.toSorted((a, b) => a.order - b.order).slice(-KEPT_RECORDS);
  return new Map(oldestFirst.map((item) => [item.id, item]));
}
