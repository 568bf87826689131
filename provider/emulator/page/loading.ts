import type {
  ConversationView,
  DeliveryView,
  EmulatorEvent,
  FaultView,
  HandshakeView,
  MessageView,
  RequestView,
  SettingsView,
  WorkspaceView,
} from "../control/shapes.js";
import { call, routeOf, type Query } from "./api.js";
import { applyEvents, byId, emptyData, type Data, type Scope } from "./apply-events.js";
import { data, isLinked, linked, revealed, settings, wire } from "./store.js";
import { segmentsOf } from "./wire.js";

/** What came while something was read: an answer may be older than an event that overtook it. */
let meanwhile: EmulatorEvent[] = [];
let reads = 0;

/** Brings events into the store. */
export function receive(events: readonly EmulatorEvent[]): void {
  if (reads > 0) meanwhile.push(...events);
  data.value = applyEvents(data.value, events);
}

/** Reads everything anew for what is chosen; chooses the first workspace if there is no such one. */
export async function loadAll(): Promise<void> {
  const chosen = data.value.scope;
  await reading(async () => {
    const [workspaces, conversations, faults, given] = await Promise.all([
      read<WorkspaceView[]>(["workspaces"]),
      read<ConversationView[]>(["conversations"]),
      read<FaultView[]>(["faults"]),
      read<SettingsView>(["settings"]),
    ]);
    settings.value = given;
    const scope = existing(chosen, workspaces, conversations);
    const records = await readScope(scope);
    const known = {
      workspaces: new Map(workspaces.map((item) => [item.name, item])),
      conversations: new Map(conversations.map((item) => [item.id, item])),
      faults,
    };
    // Something else was chosen while this was read: its records are read by then.
    return data.value.scope === chosen ? { ...emptyData(scope), ...records, ...known } : known;
  });
  await loadLinked();
}

/** Reads the exchange that the address names, if it is older than those that were read. */
async function loadLinked(): Promise<void> {
  const exchange = linked.value;
  if (exchange === null || wire.value.some(isLinked)) return;
  try {
    const record = await read(segmentsOf(exchange));
    receive([{ type: exchange.kind, [exchange.kind]: record } as unknown as EmulatorEvent]);
  } catch (error) {
    if (linked.value === exchange) linked.value = null;
    throw error;
  }
}

/** Turns to another workspace or conversation, of which nothing is read yet. Nothing of the one before stays. */
export function turnTo(scope: Scope): void {
  const { workspaces, conversations, faults } = data.value;
  data.value = { ...emptyData(scope), workspaces, conversations, faults };
}

/** Reads what belongs to another workspace or conversation. */
export async function loadScope(scope: Scope): Promise<void> {
  turnTo(scope);
  await reading(async () => {
    const records = await readScope(scope);
    // Something else was chosen while this was read.
    return data.value.scope === scope ? records : {};
  });
}

async function reading(readPart: () => Promise<Partial<Data>>): Promise<void> {
  const start = meanwhile.length;
  reads += 1;
  try {
    const part = await readPart();
    data.value = applyEvents({ ...data.value, ...part }, meanwhile.slice(start));
  } finally {
    reads -= 1;
    if (reads === 0) meanwhile = [];
  }
}

async function readScope({ workspace, conversation }: Scope): Promise<Partial<Data>> {
  if (workspace === null) return {};
  const [handshakes, deliveries, requests, messages] = await Promise.all([
    read<HandshakeView[]>(["handshakes"], { workspace }),
    read<DeliveryView[]>(["deliveries"], { workspace }),
    read<RequestView[]>(["requests"], { workspace }),
    conversation === null ? [] : read<MessageView[]>(["conversations", conversation, "messages"]),
  ]);
  return {
    handshakes: byId(handshakes),
    deliveries: byId(deliveries),
    requests: byId(requests),
    messages: byId(messages),
  };
}

function existing(
  wanted: Scope,
  workspaces: readonly WorkspaceView[],
  conversations: readonly ConversationView[],
): Scope {
  const found = workspaces.find(({ name }) => name === wanted.workspace) ?? workspaces[0];
  const workspace = found?.name ?? null;
  const conversation = conversations.find(
    (item) => item.id === wanted.conversation && item.workspace === workspace,
  );
  return { workspace, conversation: conversation?.id ?? null };
}

function read<Answer>(segments: readonly string[], query: Query = {}): Promise<Answer> {
  const reveal = revealed.value ? "true" : undefined;
  return call<Answer>("GET", routeOf(segments, { ...query, reveal }));
}
