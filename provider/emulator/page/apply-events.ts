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

/** What the page is about: records of other workspaces and messages of other conversations are not kept. */
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
export const KEPT_RECORDS = 1000;

type Draft = {
  [Key in keyof Data]: Data[Key] extends ReadonlyMap<infer Id, infer Value> ? Map<Id, Value> : Data[Key];
};

/** A page that knows nothing yet. */
export function emptyData(scope: Scope = { workspace: null, conversation: null }): Data {
  return {
    scope,
    workspaces: new Map(),
    conversations: new Map(),
    messages: new Map(),
    handshakes: new Map(),
    deliveries: new Map(),
    requests: new Map(),
    faults: [],
  };
}

/** What the page knows after these events, in their order. The same event twice does no harm. */
export function applyEvents(data: Data, events: readonly EmulatorEvent[]): Data {
  let draft = draftOf(data);
  for (const event of events) draft = applyEvent(draft, event);
  return draft;
}

function draftOf(data: Data): Draft {
  return {
    scope: data.scope,
    workspaces: new Map(data.workspaces),
    conversations: new Map(data.conversations),
    messages: new Map(data.messages),
    handshakes: new Map(data.handshakes),
    deliveries: new Map(data.deliveries),
    requests: new Map(data.requests),
    faults: data.faults,
  };
}

function applyEvent(draft: Draft, event: EmulatorEvent): Draft {
  switch (event.type) {
    case "workspace":
      draft.workspaces.set(event.workspace.name, event.workspace);
      return draft;
    case "workspace-removed":
      return removeWorkspace(draft, event.name);
    case "conversation":
      draft.conversations.set(event.conversation.id, event.conversation);
      return draft;
    case "message":
      if (event.message.conversation === draft.scope.conversation) keep(draft.messages, event.message);
      return draft;
    case "handshake":
      if (event.handshake.workspace === draft.scope.workspace) keep(draft.handshakes, event.handshake);
      return draft;
    case "delivery":
      if (event.delivery.workspace === draft.scope.workspace) keep(draft.deliveries, event.delivery);
      return draft;
    case "request":
      if (event.request.workspace === draft.scope.workspace) keep(draft.requests, event.request);
      return draft;
    case "faults":
      return { ...draft, faults: event.faults };
    case "reset":
      return { ...draftOf(emptyData(draft.scope)), workspaces: draft.workspaces };
    case "flow-failed":
    default:
      return draft;
  }
}

function keep<Item extends { id: string }>(records: Map<string, Item>, record: Item): void {
  records.set(record.id, record);
  if (records.size <= KEPT_RECORDS) return;
  const [oldest] = records.keys();
  if (oldest !== undefined) records.delete(oldest);
}

function removeWorkspace(draft: Draft, name: string): Draft {
  draft.workspaces.delete(name);
  for (const [id, { workspace }] of draft.conversations) {
    if (workspace === name) draft.conversations.delete(id);
  }
  if (draft.scope.workspace !== name) return draft;
  const { workspaces, conversations, faults } = draft;
  return { ...draftOf(emptyData()), workspaces, conversations, faults };
}

/** The records of a list by their id, oldest first, the newest that are kept. */
export function byId<Item extends { id: string; order: number }>(list: readonly Item[]): Map<string, Item> {
  const oldestFirst = list.toSorted((a, b) => a.order - b.order).slice(-KEPT_RECORDS);
  return new Map(oldestFirst.map((item) => [item.id, item]));
}
