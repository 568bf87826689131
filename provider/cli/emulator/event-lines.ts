import type {
  EmulatorEvent,
  DeliveryRecord,
  HandshakeRecord,
  MessageRecord,
  RecordedRequest,
} from "../../emulator/index.js";
import { toPlainText, toShortText } from "../../lib/plain-text.js";
import { formatUrl } from "../../lib/url.js";
import { formatTime, paint } from "../output.js";

const SHOWN_TEXT_CHARACTERS = 60;

/** Remember the lines of this many records: a changed record is published again, usually within a moment. */
const REMEMBERED_RECORDS = 1_000;

const COLOURS = { good: "green", bad: "red", plain: "cyan" } as const;

/** The columns of a line. An empty detail is left out. */
interface Line {
  at: string;
  workspace: string;
  what: string;
  verdict: string;
  mood: keyof typeof COLOURS;
  details: string[];
}

/** Returns undefined for an event without a line, and for a record whose line has not changed. */
export function createEventFormatter(): (event: EmulatorEvent) => string | undefined {
  const lines = new Map<string, string>();
  let workspaceWidth = 0;
  return (event) => {
    const [id, line] = toLine(event) ?? [];
    if (line === undefined) return undefined;
    workspaceWidth = Math.max(workspaceWidth, line.workspace.length);
    const text = formatLine(line, workspaceWidth);
    const key = `${event.type} ${id}`;
    if (lines.get(key) === text) return undefined;
    lines.delete(key);
    lines.set(key, text);
    const [oldest = ""] = lines.keys();
    if (lines.size > REMEMBERED_RECORDS) lines.delete(oldest);
    return text;
  };
}

/** Contains no headers and no keys. Text from the wire is escaped. */
function formatLine({ at, workspace, what, details, ...line }: Line, workspaceWidth: number): string {
  const verdict = paint(COLOURS[line.mood], toPlainText(line.verdict).padEnd(16));
  const shown = details.filter((detail) => detail !== "").map(toPlainText);
  const cells = [
    formatTime(at),
    toPlainText(workspace).padEnd(workspaceWidth),
    what.padEnd(9),
    verdict,
    ...shown,
  ];
  return `${cells.join("  ").trimEnd()}\n`;
}

function toLine(event: EmulatorEvent): [id: string | number, line: Line | undefined] | undefined {
  if (event.type === "request") return [event.request.id, requestLine(event.request)];
  if (event.type === "handshake") return [event.handshake.id, handshakeLine(event.handshake)];
  if (event.type === "message") return [event.message.id, messageLine(event.message)];
  if (event.type === "delivery") return [event.delivery.id, deliveryLine(event.delivery)];
  if (event.type !== "flow-failed") return undefined;
  const { workspace, reason } = event.failure;
  const details = [`the message gets no reply: ${reason}`];
  const at = new Date().toISOString();
  return [at, { at, workspace, what: "flow", verdict: "failed", mood: "bad", details }];
}

function requestLine(request: RecordedRequest): Line | undefined {
  const { at, workspace, operation, method, url, response, fault, durationMs } = request;
  // A connection that was closed without a response took some time; a request in progress has none yet.
  if (response === null && durationMs === 0) return undefined;
  const status = response?.status ?? 0;
  const isGood = status >= 200 && status <= 299;
  // The message has its own line.
  if (operation === "message" && isGood && fault === "") return undefined;
  return {
    at,
    workspace: workspace ?? "-",
    what: "request",
    verdict: response === null ? "no response" : String(status),
    mood: isGood ? "good" : "bad",
    details: [
      operation ?? `${method} ${formatUrl(url)}`,
      `${Math.round(durationMs)} ms`,
      fault === "" ? "" : `fault ${fault}`,
    ],
  };
}

const handshakeLine = ({
  encoding,
  url,
  reason,
  durationMs,
  fault,
  ...handshake
}: HandshakeRecord): Line => ({
  ...handshake,
  what: "handshake",
  mood: handshake.verdict === "passed" ? "good" : "bad",
  details: [
    `as ${encoding} to ${formatUrl(url)}`,
    `${Math.round(durationMs)} ms`,
    reason,
    fault ? `fault ${fault}` : "",
  ],
});

function messageLine({ at, workspace, from, body, delivery }: MessageRecord): Line | undefined {
  // The delivery has its own line, which names the message.
  if (delivery !== null) return undefined;
  const isLost = from !== "contact";
  return {
    at,
    workspace,
    what: "message",
    verdict: `from ${from}`,
    mood: isLost ? "bad" : "plain",
    details: [describeMessage(body), isLost ? "not delivered: no verified webhook is registered" : ""],
  };
}

function describeMessage(body: MessageRecord["body"]): string {
  const isInbound = "sender" in body;
  const contact = `contact ${isInbound ? body.sender.id : body.sender_id}`;
  const conversation = `conversation ${isInbound ? body.conversation_id : body.conv_id}`;
  const text = isInbound ? body.content || inboundMedia(body) : "text" in body ? body.text : body.url;
  return `${contact}, ${conversation}: ${toShortText(text, SHOWN_TEXT_CHARACTERS)}`;
}

const inboundMedia = (body: Extract<MessageRecord["body"], { sender: unknown }>): string =>
  "attachments" in body ? body.attachments.map((one) => `${one.file_type} ${one.data_url}`).join(", ") : "";

function deliveryLine(delivery: DeliveryRecord): Line | undefined {
  const { workspace, verdict, url, reason, attempts, signature, resendOf, message } = delivery;
  const last = attempts.at(-1);
  if (last === undefined) return undefined;
  const isRetried = verdict === "pending";
  return {
    at: last.at,
    workspace,
    what: "delivery",
    verdict: [isRetried ? "to try again" : verdict, last.response?.status].join(" ").trimEnd(),
    mood: verdict === "delivered" ? "good" : "bad",
    details: [
      describeMessage(message),
      `to ${formatUrl(url)}`,
      `${Math.round(last.durationMs)} ms`,
      attempts.length > 1 ? `attempt ${attempts.length}` : "",
      signature === "wrong" ? "wrong signature" : "",
      resendOf === null ? "" : "sent again",
      last.fault === "" ? "" : `fault ${last.fault}`,
      isRetried ? last.reason : reason,
    ],
  };
}
