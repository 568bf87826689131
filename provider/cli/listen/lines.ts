import { styleText } from "node:util";
import { toPlainText, toShortText } from "../../lib/plain-text.js";
import type {
  ListenEvent,
  SeenDelivery,
  SeenForward,
  SeenHandshake,
  SeenOther,
  SeenRequest,
} from "./watch.js";

const SHOWN_TEXT_CHARACTERS = 60;
const SHOWN_BODY_CHARACTERS = 10_000;
const INDENT = " ".repeat(10);

export interface LineOptions {
  /** Headers and body too. */
  verbose: boolean;
  /** Where the lines go: what it is decides on colours. */
  stream: NodeJS.WritableStream;
}

/** One event for people. Whatever came from the wire is escaped, so that it cannot drive the terminal. */
export function formatListenEvent(event: ListenEvent, options: LineOptions): string {
  if (event.type === "listening") return formatStart(event);
  const time = new Date(event.at).toTimeString().slice(0, 8);
  if (event.type === "forward") return `${time}  #${event.id} ${formatForward(event, options)}\n`;
  const line = `${time}  #${event.id} ${describe(event, options)}\n`;
  return options.verbose ? line + formatWire(event) : line;
}

function formatStart({ url, forwardTo }: Extract<ListenEvent, { type: "listening" }>): string {
  const target = forwardTo === null ? "" : `, forwarding to ${forwardTo}`;
  return `listening on ${url}${target}; press Ctrl-C to stop\n`;
}

function describe(seen: SeenRequest, options: LineOptions): string {
  if (seen.type === "handshake") return describeHandshake(seen, options);
  return seen.type === "delivery" ? describeDelivery(seen, options) : describeOther(seen, options);
}

function describeHandshake(
  { verdict, encoding, looksLikePreflight, status, reason }: SeenHandshake,
  options: LineOptions,
): string {
  const where = encoding === "query" ? "in the query" : `as ${encoding}`;
  const how = looksLikePreflight ? `${where}  (looks like the preflight, not the service)` : where;
  if (verdict === "passed") return `handshake  ${paint("green", "passed", options)}  ${how}`;
  return `handshake  ${paint("red", `refused ${status}`, options)}  ${how}: ${toPlainText(reason)}`;
}

function describeDelivery(seen: SeenDelivery, options: LineOptions): string {
  const { verdict, signature, kind, sender, conversation, text, status, reason } = seen;
  const isAccepted = verdict === "accepted";
  const parts = [
    `delivery   ${paint(isAccepted ? "green" : "red", isAccepted ? "accepted" : `refused ${status}`, options)}`,
    `signature ${signature}`,
    kind,
    ...(sender === "" ? [] : [`sender ${toShortText(sender, SHOWN_TEXT_CHARACTERS)}`]),
    ...(conversation === "" ? [] : [`conversation ${toShortText(conversation, SHOWN_TEXT_CHARACTERS)}`]),
    ...(text === "" ? [] : [`"${toShortText(text, SHOWN_TEXT_CHARACTERS)}"`]),
  ];
  return parts.join("  ") + (reason === "" ? "" : `\n${INDENT}${toPlainText(reason)}`);
}

const describeOther = ({ method, path, status, reason }: SeenOther, options: LineOptions): string =>
  `request    ${paint("red", `refused ${status}`, options)}  ${toPlainText(`${method} ${path}: ${reason}`)}`;

function formatForward({ status, reason, url, durationMs }: SeenForward, options: LineOptions): string {
  if (status === null) return `forward    ${paint("red", "failed", options)}  ${url}: ${reason}`;
  const colour = status >= 200 && status <= 299 ? "green" : "yellow";
  return `forward    ${paint(colour, String(status), options)}  ${url} in ${durationMs} ms`;
}

/** Headers and body, indented. A handshake's body holds a key and is not there. */
function formatWire(seen: SeenRequest): string {
  const headers = seen.headers.map(([name, value]) => `${INDENT}${toPlainText(`${name}: ${value}`)}\n`);
  const body = seen.type === "delivery" ? seen.body : "";
  return headers.join("") + (body === "" ? "" : `${INDENT}${toShortText(body, SHOWN_BODY_CHARACTERS)}\n`);
}

const paint = (colour: "green" | "red" | "yellow", text: string, { stream }: LineOptions): string =>
  styleText(colour, text, { stream });
