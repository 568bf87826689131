import { styleText } from "node:util";
import type { FlowFailure } from "../../emulator/state.js";
import type {
  DeliveryView,
  EmulatorEvent,
  HandshakeView,
  MessageView,
  RequestView,
} from "../../emulator/control/shapes.js";
import { toPlainText, toShortText } from "../../lib/plain-text.js";
import { formatUrl } from "../../lib/url.js";

const SHOWN_TEXT_CHARACTERS = 60;

/** How many records are remembered: one that changes comes again, and mostly within a moment. */
const REMEMBERED_RECORDS = 1_000;

/** How a line ends: well, badly, or neither. */
type Mood = "good" | "bad" | "plain";

interface Line {
  at: string;
  workspace: string;
  what: string;
  verdict: string;
  mood: Mood;
  details: string[];
}

/** Formats events one after the other; a record that comes again with nothing new for people gives no second line. */
export function createEventFormatter(
  stream: NodeJS.WritableStream,
): (event: EmulatorEvent) => string | undefined {
  const lines = new Map<string, string>();
  return (event) => {
    const line = formatEmulatorEvent(event, stream);
    const key = keyOf(event);
    if (line === undefined || key === undefined) return line;
    if (lines.get(key) === line) return undefined;
    lines.delete(key);
    lines.set(key, line);
    const [oldest] = lines.keys();
    if (lines.size > REMEMBERED_RECORDS && oldest !== undefined) lines.delete(oldest);
    return line;
  };
}

function keyOf(event: EmulatorEvent): string | undefined {
  if (event.type === "message") return `message ${event.message.id}`;
  if (event.type === "handshake") return `handshake ${event.handshake.id}`;
  if (event.type === "delivery") return `delivery ${event.delivery.id}`;
  return event.type === "request" ? `request ${event.request.id}` : undefined;
}

/**
 * One event of the emulator as a line for people; undefined for those that mean nothing by themselves, such as a request
 * that is in progress. No header and no key is in it; what came from the wire is escaped. `stream` decides on colours.
 */
function formatEmulatorEvent(event: EmulatorEvent, stream: NodeJS.WritableStream): string | undefined {
  const line = toLine(event);
  if (line === undefined) return undefined;
  const time = new Date(line.at).toTimeString().slice(0, 8);
  const verdict = paint(line.mood, toPlainText(line.verdict).padEnd(16), stream);
  const start = [time, toPlainText(line.workspace), line.what.padEnd(9), verdict];
  return [...start, ...line.details.filter((detail) => detail !== "").map(toPlainText)]
    .join("  ")
    .trimEnd()
    .concat("\n");
}

function toLine(event: EmulatorEvent): Line | undefined {
  if (event.type === "request") return requestLine(event.request);
  if (event.type === "handshake") return handshakeLine(event.handshake);
  if (event.type === "message") return messageLine(event.message);
  if (event.type === "flow-failed") return flowFailureLine(event.failure);
  return event.type === "delivery" ? deliveryLine(event.delivery) : undefined;
}

function requestLine(request: RequestView): Line | undefined {
  const { at, workspace, operation, method, url, response, fault, durationMs } = request;
  // A connection that was closed without an answer took some time; one that is in progress has none yet.
  if (response === null && durationMs === 0) return undefined;
  const status = response?.status ?? 0;
  return {
    at,
    workspace: workspace ?? "-",
    what: "request",
    verdict: response === null ? "no answer" : String(status),
    mood: status >= 200 && status <= 299 ? "good" : "bad",
    details: [
      operation ?? `${method} ${formatUrl(url)}`,
      `${Math.round(durationMs)} ms`,
      fault === "" ? "" : `fault ${fault}`,
    ],
  };
}

function handshakeLine({ at, workspace, verdict, encoding, url, reason, durationMs }: HandshakeView): Line {
  return {
    at,
    workspace,
    what: "handshake",
    verdict,
    mood: verdict === "passed" ? "good" : "bad",
    details: [`as ${encoding} to ${formatUrl(url)}`, `${Math.round(durationMs)} ms`, reason],
  };
}

function messageLine({ at, workspace, from, body, delivery }: MessageView): Line {
  const isLost = from !== "contact" && delivery === null;
  return {
    at,
    workspace,
    what: "message",
    verdict: `from ${from}`,
    mood: isLost ? "bad" : "plain",
    details: [describeMessage(body), isLost ? "not delivered: no verified webhook is registered" : ""],
  };
}

/** Whose it is and its content, in either direction. */
function describeMessage(body: MessageView["body"]): string {
  const isInbound = "sender" in body;
  const contact = `contact ${isInbound ? body.sender.id : body.sender_id}`;
  const conversation = `conversation ${isInbound ? body.conversation_id : body.conv_id}`;
  const text = isInbound ? body.content || inboundMedia(body) : "text" in body ? body.text : body.url;
  return `${contact}, ${conversation}: ${toShortText(text, SHOWN_TEXT_CHARACTERS)}`;
}

const inboundMedia = (body: Extract<MessageView["body"], { sender: unknown }>): string =>
  "attachments" in body ? body.attachments.map((one) => `${one.file_type} ${one.data_url}`).join(", ") : "";

function deliveryLine(delivery: DeliveryView): Line | undefined {
  const { workspace, verdict, url, reason, attempts, signature, resendOf } = delivery;
  const last = attempts.at(-1);
  if (last === undefined) return undefined;
  const isTriedAgain = verdict === "pending";
  return {
    at: last.at,
    workspace,
    what: "delivery",
    verdict: `${isTriedAgain ? "to try again" : verdict}${statusOf(last.response?.status)}`,
    mood: verdict === "delivered" ? "good" : "bad",
    details: [
      `to ${formatUrl(url)}`,
      `${Math.round(last.durationMs)} ms`,
      attempts.length > 1 ? `attempt ${attempts.length}` : "",
      signature === "wrong" ? "wrong signature" : "",
      resendOf === null ? "" : "sent again",
      isTriedAgain ? last.reason : reason,
    ],
  };
}

const flowFailureLine = ({ workspace, reason }: FlowFailure): Line => ({
  at: new Date().toISOString(),
  workspace,
  what: "flow",
  verdict: "failed",
  mood: "bad",
  details: [`the message gets no reply: ${reason}`],
});

const statusOf = (status: number | undefined): string => (status === undefined ? "" : ` ${status}`);

const COLOURS = { good: "green", bad: "red", plain: "cyan" } as const;

const paint = (mood: Mood, text: string, stream: NodeJS.WritableStream): string =>
  styleText(COLOURS[mood], text, { stream });
