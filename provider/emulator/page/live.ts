import type { ConversationView, EmulatorEvent, WorkspaceView } from "../control/shapes.js";
import type { FaultView } from "../faults.js";
import type { MessageRecord } from "../state.js";
import { read, shownRouteOf } from "./api.js";
import { applyEvents, MAX_EXCHANGES, type Data, type Scope } from "./data.js";
import { attempt, showError } from "./errors.js";
import { connection, data } from "./store.js";
import { ROUTES, type Exchange } from "./wire.js";

/** How long events are gathered, in milliseconds, so that a burst of them is drawn only once. */
const GATHER_MS = 30;

const RETRY_MS = 1500;

let source: EventSource | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;
let gathered: EmulatorEvent[] = [];

/** The events since the latest load began. Its responses may be older. Undefined if nothing is loading. */
let meanwhile: EmulatorEvent[] | undefined;

/** Opens the live stream in place of the current one. Whenever the stream opens, everything is loaded again. */
export function connect(): void {
  source?.close();
  clearTimeout(retry);
  gathered = [];
  // Discards a load in progress, because its data may contain secrets that must be hidden by now.
  meanwhile = undefined;
  const opened = new EventSource(shownRouteOf(["events"]));
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
  opened.addEventListener("message", gather);
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
    if (event.type === "flow-failed" && event.workspace === scope.workspace) {
      showError(`The flow failed, so there is no reply: ${event.reason}`);
    }
  }
  const isFirst = scope.workspace === null && workspaces.size > 0;
  const isRemoved = events.some(({ type }) => type === "reset" || type === "workspace-removed");
  if (isFirst || isRemoved) void attempt(load);
}

/** Loads everything that belongs to the current scope. Chooses the first workspace if the chosen one does not exist. */
export async function load(): Promise<void> {
  const arrived: EmulatorEvent[] = [];
  meanwhile = arrived;
  try {
    const chosen = data.value.scope;
    const [workspaces, faults] = await Promise.all([
      read<WorkspaceView[]>(["workspaces"]),
      read<FaultView[]>(["faults"]),
    ]);
    const place = (workspaces.find(({ name }) => name === chosen.workspace) ?? workspaces[0])?.name ?? null;
    const conversations =
      place === null ? [] : await read<ConversationView[]>(["conversations"], { workspace: place });
    const talk = conversations.find(({ id }) => id === chosen.conversation);
    const scope = { workspace: place, conversation: talk?.id ?? null };
    const [messages, exchanges] = await Promise.all([readMessages(scope), readExchanges(scope)]);
    // A later load takes precedence, because it reads everything again.
    if (meanwhile !== arrived) return;
    const known: Data = {
      scope,
      workspaces: new Map(workspaces.map((item) => [item.name, item])),
      conversations: new Map(conversations.map((item) => [item.id, item])),
      messages: new Map(messages.map((item) => [item.id, item])),
      exchanges: new Map(exchanges.map((item) => [item.record.id, item])),
      faults,
    };
    data.value = applyEvents(known, arrived);
  } finally {
    if (meanwhile === arrived) meanwhile = undefined;
  }
}

async function readMessages({ conversation }: Scope): Promise<MessageRecord[]> {
  return conversation === null ? [] : read(["conversations", conversation, "messages"]);
}

/** The newest exchanges of the workspace, oldest first. */
async function readExchanges({ workspace }: Scope): Promise<Exchange[]> {
  if (workspace === null) return [];
  const query = { workspace, limit: String(MAX_EXCHANGES) };
  const lists = Object.entries(ROUTES).map(async ([kind, route]) => {
    const records = await read<Exchange["record"][]>([route], query);
    return records.map((record) => ({ kind, record }) as Exchange);
  });
  return (await Promise.all(lists)).flat().toSorted((a, b) => a.record.order - b.record.order);
}
