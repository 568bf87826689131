import type { EmulatorEvent } from "../control/shapes.js";
import { routeOf } from "./api.js";
import { t } from "./i18n/translate.js";
import { loadAll, receive } from "./loading.js";
import { attempt, showError } from "./notices.js";
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

/** Opens the live stream in place of the one that is open. Everything is read again whenever it opens. */
export function connect(): void {
  source?.close();
  clearTimeout(retry);
  gathered = [];
  const opened = new EventSource(routeOf(["events"], { reveal: revealed.value ? "true" : undefined }));
  source = opened;
  opened.addEventListener("open", () => {
    connection.value = "live";
    void attempt(loadAll);
  });
  opened.addEventListener("error", () => {
    if (opened !== source) return;
    connection.value = "lost";
    // The browser itself tries again after a break, but not after an answer that is no stream.
    if (opened.readyState === EventSource.CLOSED) retry = setTimeout(connect, RETRY_MS);
  });
  for (const type of EVENT_TYPES) opened.addEventListener(type, gather);
}

function gather(message: MessageEvent<string>): void {
  gathered.push(JSON.parse(message.data) as EmulatorEvent);
  if (gathered.length === 1) setTimeout(passOn, GATHER_MS);
}

function passOn(): void {
  const events = gathered;
  gathered = [];
  receive(events);
  const { scope, workspaces } = data.value;
  for (const event of events) {
    if (event.type !== "flow-failed" || event.failure.workspace !== scope.workspace) continue;
    showError(t("error.flow", { reason: event.failure.reason }));
  }
  // The chosen workspace was removed, or the first one was created.
  const nothingChosen = scope.workspace === null && workspaces.size > 0;
  if (nothingChosen || events.some(({ type }) => type === "reset")) void attempt(loadAll);
}
