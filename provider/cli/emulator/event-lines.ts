import type { DeliveryRecord, EmulatorEvent, MessageRecord, RecordedRequest } from "../../emulator/index.js";
import { toPlainText, toShortText } from "../../lib/plain-text.js";
import { formatUrl } from "../../lib/url.js";
import { formatTime, paint } from "../output.js";

const SHOWN_TEXT_CHARACTERS = 60;

/** The parts of a line after the time and the workspace. Empty details are left out. */
type Line = [what: string, isGood: boolean, verdict: string, ...details: string[]];

/**
 * Returns the line for an event: time, workspace, what happened, verdict, details. Returns undefined if the line for
 * another event says the same. The line contains no headers and no keys. Text from the wire is escaped.
 */
export function formatEvent(event: EmulatorEvent): string | undefined {
  const [workspace, line] = toLine(event) ?? [];
  if (line === undefined) return undefined;
  const [what, isGood, verdict, ...details] = line;
  const cells = [
    formatTime(new Date().toISOString()),
    toPlainText(workspace ?? "-"),
    what,
    paint(isGood ? "green" : "red", toPlainText(verdict)),
    ...details.filter((detail) => detail !== "").map(toPlainText),
  ];
  return `${cells.join("  ")}\n`;
}

function toLine(event: EmulatorEvent): [workspace: string | null, line: Line | undefined] | undefined {
  if (event.type === "request") return [event.request.workspace, requestLine(event.request)];
  if (event.type === "message") return [event.message.workspace, messageLine(event.message)];
  if (event.type === "delivery") return [event.delivery.workspace, deliveryLine(event.delivery)];
  if (event.type === "flow-failed") return [event.workspace, ["flow", false, "failed", event.reason]];
  if (event.type !== "handshake") return undefined;
  const { workspace, verdict, url, reason, fault } = event.handshake;
  const isGood = verdict === "passed";
  return [workspace, ["handshake", isGood, verdict, `to ${formatUrl(url)}`, reason, describeFault(fault)]];
}

const describeFault = (fault: string): string => (fault === "" ? "" : `fault ${fault}`);

function requestLine({ operation, method, url, response, fault }: RecordedRequest): Line | undefined {
  const { status = 0 } = response ?? {};
  const isGood = status >= 200 && status <= 299;
  // The message itself is printed on a separate line.
  if (operation === "message" && isGood && fault === "") return undefined;
  const verdict = response === null ? "no response" : String(status);
  return ["request", isGood, verdict, operation ?? `${method} ${formatUrl(url)}`, describeFault(fault)];
}

function messageLine({ from, body, delivery }: MessageRecord): Line | undefined {
  // The delivery is printed on a separate line, which also shows the message.
  if (delivery !== null) return undefined;
  const isLost = from !== "contact";
  const reason = isLost ? "not delivered: no verified webhook is registered" : "";
  return ["message", !isLost, `from ${from}`, describeMessage(body), reason];
}

function deliveryLine(delivery: DeliveryRecord): Line | undefined {
  const { verdict, url, attempts, signature, resendOf, message } = delivery;
  const last = attempts.at(-1);
  if (last === undefined) return undefined;
  return [
    "delivery",
    verdict === "delivered",
    verdict === "pending" ? "will be retried" : verdict,
    describeMessage(message),
    `to ${formatUrl(url)}`,
    signature === "wrong" ? "wrong signature" : "",
    resendOf === null ? "" : "sent again",
    last.reason,
    describeFault(last.fault),
  ];
}

function describeMessage(body: MessageRecord["body"]): string {
  const isInbound = "sender" in body;
  const contact = `contact ${isInbound ? body.sender.id : body.sender_id}`;
  const conversation = `conversation ${isInbound ? body.conversation_id : body.conv_id}`;
  return `${contact}, ${conversation}: ${toShortText(contentOf(body), SHOWN_TEXT_CHARACTERS)}`;
}

/** The text of a message, or the URL of its media. */
function contentOf(body: MessageRecord["body"]): string {
  if ("attachments" in body) return body.attachments[0].data_url;
  if ("content" in body) return body.content;
  return "text" in body ? body.text : body.url;
}
