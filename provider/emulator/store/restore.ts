import type { DatabaseSync } from "node:sqlite";
import { invalidOption } from "../check-options.js";
import { keyOf, type Conversation } from "../conversations.js";
import { ConversationTurns } from "../deliveries/turns.js";
import type { EmulatorState } from "../emulator-state.js";
import { createWorkspaceState, type WorkspaceState } from "../workspace-state.js";
import { decode, type KeptKind, type KeptMeta, type KeptRecords } from "./kept-records.js";

/** Brings back into an empty state what the file holds. The state knows its origins by then. */
export function restoreState(database: DatabaseSync, state: EmulatorState): void {
  const read = <Kind extends KeptKind>(kind: Kind): KeptRecords[Kind][] => readRecords(database, kind);
  const [meta] = read("meta");
  if (meta === undefined) return;
  for (const kept of read("workspace")) restoreWorkspace(state, meta, kept);
  // Its workspace holds them in the order of their last message.
  const byLastMessage = read("conversation").toSorted((a, b) => a.lastAt.getTime() - b.lastAt.getTime());
  for (const kept of byLastMessage) restoreConversation(state, kept);
  for (const delivery of read("delivery")) state.directory.get(delivery.workspace)?.deliveries.push(delivery);
  for (const handshake of read("handshake")) {
    state.directory.get(handshake.workspace)?.handshakes.push(handshake);
  }
  const conversations = conversationsById(state);
  for (const message of read("message")) conversations.get(message.conversation)?.messages.push(message);
  state.requests.push(...read("request"));
  state.lastOrder = Math.max(meta.lastOrder, readLastOrder(database));
}

/** Oldest first; workspaces in the order in which they were made. */
function readRecords<Kind extends KeptKind>(database: DatabaseSync, kind: Kind): KeptRecords[Kind][] {
  const rows = database.prepare("SELECT data FROM records WHERE kind = ? ORDER BY ord, rowid").all(kind);
  // The rows are this program's own: the version of the file says what is in them.
  return rows.map(({ data }) => decode(data as Uint8Array) as KeptRecords[Kind]);
}

function readLastOrder(database: DatabaseSync): number {
  return Number(database.prepare("SELECT max(ord) AS last FROM records").get()?.["last"] ?? 0);
}

function restoreWorkspace(state: EmulatorState, meta: KeptMeta, kept: KeptRecords["workspace"]): void {
  assertFlowIsKnown(state, kept);
  const { name, apiKey, flow } = kept;
  const begun = createWorkspaceState({ name, apiKey }, { botBaseUrl: state.origins.bot, flow });
  // The ports may be others than before; a bot that was moved to another host stays there.
  const botBaseUrl = kept.botBaseUrl === meta.botOrigin ? state.origins.bot : kept.botBaseUrl;
  const workspace: WorkspaceState = { ...begun, ...kept, botBaseUrl };
  state.directory.set(name, workspace);
}

function assertFlowIsKnown(
  { flows, settings }: EmulatorState,
  { name, flow }: KeptRecords["workspace"],
): void {
  if (flows.has(flow)) return;
  throw invalidOption(
    `data: ${settings.data}: workspace "${name}" answers with the flow "${flow}", which is not there; give it with ` +
      `flows again, as in the run before; there are ${[...flows.keys()].join(", ")}`,
  );
}

function restoreConversation(state: EmulatorState, kept: KeptRecords["conversation"]): void {
  const conversation: Conversation = { ...kept, messages: [], turns: new ConversationTurns() };
  state.directory.get(kept.workspace)?.conversations.set(keyOf(kept), conversation);
}

function conversationsById({ directory }: EmulatorState): Map<string, Conversation> {
  const all = [...directory.values()].flatMap(({ conversations }) => [...conversations.values()]);
  return new Map(all.map((conversation) => [conversation.id, conversation]));
}
