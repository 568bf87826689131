import type { FlowFailure } from "../changes.js";
import type { EmulatorEvent } from "../control/shapes.js";
import { routeOf } from "./api.js";
import { t } from "./i18n/translate.js";
import { loadAll, receive } from "./loading.js";
import { attempt, tellError } from "./notices.js";
import { connection, data, revealed } from "./store.js";

const EVENT_TYPES = [
  "workspace",
  "workspace-removed",
  "conversation",
  "message",
  "handshake",
  "delivery",
  "flow-failed",
  "request",
  "faults",
  "reset",
] as const satisfies readonly EmulatorEvent["type"][];

/** A burst of events is drawn once. */
const GATHER_MS = 30;

const RETRY_MS = 1500;

let source: EventSource | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;
let gathered: EmulatorEvent[] = [];

/** Opens the live stream, in place of one that is open. Everything is read anew whenever it opens. */
export function connect(): void {
  source?.close();
  clearTimeout(retry);
  gathered = [];
  const reveal = revealed.value ? "true" : undefined;
  const opened = new EventSource(routeOf(["events"], { reveal }));
  source = opened;
  opened.addEventListener("open", () => {
    connection.value = "live";
    void attempt(loadAll);
  });
  opened.addEventListener("error", () => onLost(opened));
  for (const type of EVENT_TYPES) opened.addEventListener(type, gather);
}

/** The browser itself tries again after a break, but not after an answer that is no stream. */
function onLost(lost: EventSource): void {
  if (lost !== source) return;
  connection.value = "lost";
  if (lost.readyState === EventSource.CLOSED) retry = setTimeout(connect, RETRY_MS);
}

function gather(message: MessageEvent<string>): void {
  gathered.push(JSON.parse(message.data) as EmulatorEvent);
  if (gathered.length === 1) setTimeout(pass, GATHER_MS);
}

function pass(): void {
  const events = gathered;
  gathered = [];
  receive(events);
  for (const event of events) if (event.type === "flow-failed") tellFlowFailure(event.failure);
  if (events.some(({ type }) => type === "reset") || nothingIsChosen()) void attempt(loadAll);
}

function tellFlowFailure({ workspace, reason }: FlowFailure): void {
  if (workspace === data.value.scope.workspace) tellError(t("error.flow", { reason }));
}

/** The chosen workspace was removed, or the first one was made. */
function nothingIsChosen(): boolean {
  const { scope, workspaces } = data.value;
  return scope.workspace === null && workspaces.size > 0;
}
