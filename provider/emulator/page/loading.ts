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
import { read, type Query } from "./api.js";
import { applyEvents, byId, emptyData, type Data, type Scope } from "./apply-events.js";
import { data, isLinked, linked, revealed, settings, wire } from "./store.js";
import { segmentsOf } from "./wire.js";

/** What arrived while something was read: an answer may be older than an event that overtook it. */
let meanwhile: EmulatorEvent[] = [];
let reads = 0;

/** Brings events into the store. */
export function receive(events: readonly EmulatorEvent[]): void {
  if (reads > 0) meanwhile.push(...events);
  data.value = applyEvents(data.value, events);
}

/** Reads everything again for what is chosen. Chooses the first workspace if the chosen one does not exist. */
export async function loadAll(): Promise<void> {
  const chosen = data.value.scope;
  await reading(async () => {
    const [workspaces, conversations, faults, given] = await Promise.all([
      readShown<WorkspaceView[]>(["workspaces"]),
      readShown<ConversationView[]>(["conversations"]),
      readShown<FaultView[]>(["faults"]),
      readShown<SettingsView>(["settings"]),
    ]);
    settings.value = given;
    const scope = existing(chosen, workspaces, conversations);
    const records = await readScope(scope);
    const known = {
      workspaces: new Map(workspaces.map((item) => [item.name, item])),
      conversations: new Map(conversations.map((item) => [item.id, item])),
      faults,
    };
    // If something else was chosen meanwhile, its records are read already.
    return data.value.scope === chosen ? { ...emptyData(scope), ...records, ...known } : known;
  });
  await loadLinked();
}

/** Reads the exchange that the address names, if it is older than those that were read. */
async function loadLinked(): Promise<void> {
  const exchange = linked.value;
  if (exchange === null || wire.value.some(isLinked)) return;
  try {
    const record = await readShown(segmentsOf(exchange));
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
    readShown<HandshakeView[]>(["handshakes"], { workspace }),
    readShown<DeliveryView[]>(["deliveries"], { workspace }),
    readShown<RequestView[]>(["requests"], { workspace }),
    conversation === null ? [] : readShown<MessageView[]>(["conversations", conversation, "messages"]),
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
  const workspace = (workspaces.find(({ name }) => name === wanted.workspace) ?? workspaces[0])?.name ?? null;
  const conversation = conversations.find(
    (item) => item.id === wanted.conversation && item.workspace === workspace,
  );
  return { workspace, conversation: conversation?.id ?? null };
}

/** Reads with masks, or in clear text after "Show secrets". */
function readShown<Answer>(segments: readonly string[], query: Query = {}): Promise<Answer> {
  return read<Answer>(segments, { ...query, reveal: revealed.value ? "true" : undefined });
}
