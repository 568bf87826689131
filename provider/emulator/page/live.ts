import type {
  ConversationView,
  EmulatorEvent,
  FaultView,
  MessageView,
  SettingsView,
  WorkspaceView,
} from "../control/shapes.js";
import { IN_CLEAR, read, routeOf } from "./api.js";
import { applyEvents } from "./data.js";
import { t } from "./i18n/translate.js";
import { attempt, showError } from "./notices.js";
import { connection, data, flows, linked, revealed } from "./store.js";
import { EXCHANGE_KINDS, keyOf, ROUTES, type Exchange } from "./wire.js";

const EVENT_TYPES = [
  "workspace",
  "workspace-removed",
  "conversation",
  "message",
  ...EXCHANGE_KINDS,
  "flow-failed",
  "faults",
  "reset",
] as const satisfies readonly EmulatorEvent["type"][];

/** A burst of events is drawn once. */
const GATHER_MS = 30;

const RETRY_MS = 1500;

let source: EventSource | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;
let gathered: EmulatorEvent[] = [];

/** What has arrived since the latest load began, whose responses may be older. Undefined if nothing is being loaded. */
let meanwhile: EmulatorEvent[] | undefined;

/** Opens the live stream in place of the current one. Everything is loaded again whenever it opens. */
export function connect(): void {
  source?.close();
  clearTimeout(retry);
  gathered = [];
  const opened = new EventSource(routeOf(["events"], revealed.value ? IN_CLEAR : {}));
  source = opened;
  opened.addEventListener("open", () => {
    connection.value = "live";
    void attempt(load);
  });
  opened.addEventListener("error", () => {
    if (opened !== source) return;
    connection.value = "lost";
    // The browser reconnects after a broken connection, but not after a response that is not a stream.
    if (opened.readyState === EventSource.CLOSED) retry = setTimeout(connect, RETRY_MS);
  });
  for (const type of EVENT_TYPES) opened.addEventListener(type, gather);
}

function gather(message: MessageEvent<string>): void {
  gathered.push(JSON.parse(message.data) as EmulatorEvent);
  if (gathered.length === 1) setTimeout(receive, GATHER_MS);
}

function receive(): void {
  const events = gathered;
  gathered = [];
  meanwhile?.push(...events);
  data.value = applyEvents(data.value, events);
  const { scope, workspaces } = data.value;
  for (const event of events) {
    if (event.type !== "flow-failed" || event.failure.workspace !== scope.workspace) continue;
    showError(t("The flow failed, so the message gets no reply: {reason}", { reason: event.failure.reason }));
  }
  // The chosen workspace was removed, or the first one was created.
  const nothingChosen = scope.workspace === null && workspaces.size > 0;
  if (nothingChosen || events.some(({ type }) => type === "reset")) void attempt(load);
}

/** Loads everything that belongs to the current scope. Chooses the first workspace if the chosen one does not exist. */
export async function load(): Promise<void> {
  const arrived: EmulatorEvent[] = [];
  meanwhile = arrived;
  try {
    const chosen = data.value.scope;
    const [workspaces, conversations, faults, settings] = await Promise.all([
      read<WorkspaceView[]>(["workspaces"]),
      read<ConversationView[]>(["conversations"]),
      read<FaultView[]>(["faults"]),
      read<SettingsView>(["settings"]),
    ]);
    const workspace =
      (workspaces.find(({ name }) => name === chosen.workspace) ?? workspaces[0])?.name ?? null;
    const isChosen = (item: ConversationView) =>
      item.id === chosen.conversation && item.workspace === workspace;
    const scope = { workspace, conversation: conversations.find(isChosen)?.id ?? null };
    const [messages, exchanges] = await Promise.all([
      readMessages(scope.conversation),
      readExchanges(workspace),
    ]);
    // A later load reads everything again.
    if (meanwhile !== arrived) return;
    flows.value = settings.flows;
    const loaded = {
      scope,
      workspaces: new Map(workspaces.map((item) => [item.name, item])),
      conversations: new Map(conversations.map((item) => [item.id, item])),
      messages: new Map(messages.map((item) => [item.id, item])),
      exchanges: new Map(exchanges.map((item) => [keyOf(item.kind, item.record.id), item])),
      faults,
    };
    data.value = applyEvents(loaded, arrived);
  } finally {
    if (meanwhile === arrived) meanwhile = undefined;
  }
  await loadLinked();
}

async function readMessages(conversation: string | null): Promise<MessageView[]> {
  return conversation === null ? [] : read(["conversations", conversation, "messages"]);
}

/** The exchanges of a workspace, oldest first. */
async function readExchanges(workspace: string | null): Promise<Exchange[]> {
  if (workspace === null) return [];
  const lists = EXCHANGE_KINDS.map(async (kind) => {
    const records = await read<Exchange["record"][]>([ROUTES[kind]], { workspace });
    return records.map((record) => ({ kind, record }) as Exchange);
  });
  return (await Promise.all(lists)).flat().toSorted((a, b) => a.record.order - b.record.order);
}

/** Loads the exchange that the address names, if it is older than the loaded ones. */
async function loadLinked(): Promise<void> {
  const exchange = linked.value;
  if (exchange === null || data.value.exchanges.has(keyOf(exchange.kind, exchange.id))) return;
  try {
    const record = await read([ROUTES[exchange.kind], exchange.id]);
    const event = { type: exchange.kind, [exchange.kind]: record } as unknown as EmulatorEvent;
    data.value = applyEvents(data.value, [event]);
  } catch (error) {
    if (linked.value === exchange) linked.value = null;
    throw error;
  }
}
