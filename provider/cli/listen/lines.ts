import { toPlainText, toShortText } from "../../lib/plain-text.js";
import { formatTime, paint } from "../output.js";
import type { ReceivedRequest } from "./receive.js";
import type { ForwardEvent, ListenEvent } from "./run.js";

const SHOWN_TEXT_CHARACTERS = 60;

/** Formats one event for people. Text from the wire is escaped, so that it cannot control the terminal. */
export function formatListenEvent(event: ListenEvent): string {
  if (event.type === "listening") {
    const target = event.forwardTo === null ? "" : `, forwarding to ${event.forwardTo}`;
    return `listening on ${event.url}${target}; press Ctrl-C to stop\n`;
  }
  const text = event.type === "forward" ? describeForward(event) : describe(event);
  return `${formatTime(event.at)}  #${event.id} ${text}\n`;
}

function describe(received: ReceivedRequest): string {
  const { type, status, method, path, reason, encoding, kind, sender, conversation, text } = received;
  const verdict = paint(reason === "" ? "green" : "red", String(status));
  const mark = received.looksLikePreflight ? "this package's preflight, not the service" : "";
  const parts = [
    `${type.padEnd(9)}  ${verdict}  ${toPlainText(`${method} ${path}`)}`,
    encoding && (encoding === "query" ? "in the query" : `as ${encoding}`),
    kind,
    ...short("sender ", sender),
    ...short("conversation ", conversation),
    ...short('"', text, '"'),
    toPlainText(reason),
    mark,
  ];
  return parts.filter(Boolean).join("  ");
}

function describeForward({ status, reason, url, durationMs }: ForwardEvent): string {
  if (status === null) return `forward    ${paint("red", "failed")}  ${url}: ${reason}`;
  const colour = status >= 200 && status <= 299 ? "green" : "yellow";
  return `forward    ${paint(colour, String(status))}  ${url} in ${durationMs} ms`;
}

const short = (before: string, value = "", after = ""): string[] =>
  value === "" ? [] : [before + toShortText(value, SHOWN_TEXT_CHARACTERS) + after];
