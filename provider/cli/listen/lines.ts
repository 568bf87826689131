import { toPlainText, toShortText } from "../../lib/plain-text.js";
import { formatTime, paint } from "../output.js";
import type { SeenRequest } from "../../responder/watch.js";
import type { ForwardEvent, ListenEvent } from "./run.js";

const SHOWN_TEXT_CHARACTERS = 60;
const INDENT = " ".repeat(10);

/** Formats one event for people. Everything from the wire is escaped, so that it cannot drive the terminal. */
export function formatListenEvent(event: ListenEvent): string {
  if (event.type === "listening") {
    const target = event.forwardTo === null ? "" : `, forwarding to ${event.forwardTo}`;
    return `listening on ${event.url}${target}; press Ctrl-C to stop\n`;
  }
  const text = event.type === "forward" ? describeForward(event) : describe(event);
  return `${formatTime(event.at)}  #${event.id} ${text}\n`;
}

function describe(seen: SeenRequest): string {
  const { type, verdict, status } = seen;
  const shown = verdict === "refused" ? paint("red", `refused ${status}`) : paint("green", verdict);
  const start = `${type.padEnd(9)}  ${shown}  ${toPlainText(`${seen.method} ${seen.path}`)}`;
  const reason = toPlainText(seen.reason);
  if (type === "request") return `${start}: ${reason}`;
  if (type === "handshake") {
    const where = seen.encoding === "query" ? "in the query" : `as ${seen.encoding}`;
    const mark = seen.looksLikePreflight ? "  (looks like the preflight, not the service)" : "";
    return `${start}  ${where}${mark}` + (reason === "" ? "" : `: ${reason}`);
  }
  const { signature, kind, sender, conversation, text } = seen;
  const parts = [
    start,
    `signature ${signature}`,
    kind,
    ...short("sender ", sender),
    ...short("conversation ", conversation),
    ...short('"', text, '"'),
  ];
  return parts.join("  ") + (reason === "" ? "" : `\n${INDENT}${reason}`);
}

function describeForward({ status, reason, url, durationMs }: ForwardEvent): string {
  if (status === null) return `forward    ${paint("red", "failed")}  ${url}: ${reason}`;
  const colour = status >= 200 && status <= 299 ? "green" : "yellow";
  return `forward    ${paint(colour, String(status))}  ${url} in ${durationMs} ms`;
}

const short = (before: string, value: string, after = ""): string[] =>
  value === "" ? [] : [before + toShortText(value, SHOWN_TEXT_CHARACTERS) + after];
