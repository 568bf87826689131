import { isUtf8 } from "node:buffer";
import type { OutboundMessage } from "../../../schema/outbound.js";
import { withDigits } from "../conversations.js";
import {
  keep,
  nextRecord,
  type Conversation,
  type DeliveryRecord,
  type EmulatorState,
  type WorkspaceState,
} from "../state.js";
import type { Reading } from "../switches.js";

/** The bytes of a delivery, as its record holds them. */
export type SentBody = Pick<DeliveryRecord, "base64"> & { body: string };

/** What is known of a delivery before its first try. */
interface NewDelivery {
  message: OutboundMessage;
  url: string;
  sent: SentBody;
  dueAt: Date;
}

/** Records a delivery that is still to come, and reports it. */
export function recordDelivery(
  state: EmulatorState,
  workspace: WorkspaceState,
  conversation: Conversation,
  { message, url, sent: { body, base64 }, dueAt }: NewDelivery,
  numbered = nextRecord(state, "delivery"),
): DeliveryRecord {
  return addDelivery(state, workspace, {
    ...numbered,
    at: new Date().toISOString(),
    workspace: workspace.name,
    conversation: conversation.id,
    contactId: message.sender_id,
    conversationId: String(message.conv_id),
    message: withDigits(message),
    url,
    sent: { headers: {}, body },
    ...(base64 !== undefined && { base64 }),
    signature: "right",
    verdict: "pending",
    reason: "",
    attempts: [],
    dueAt: dueAt.toISOString(),
    resendOf: null,
  });
}

/** A new delivery of the same bytes and headers as one that was sent, but for what `changed` says. */
export function recordCopy(
  state: EmulatorState,
  workspace: WorkspaceState,
  { status: _status, ...known }: DeliveryRecord,
  changed: Pick<Partial<DeliveryRecord>, "sent" | "base64"> = {},
): DeliveryRecord {
  const now = new Date().toISOString();
  const { base64, ...copy } = { ...known, ...changed };
  return addDelivery(state, workspace, {
    ...copy,
    ...(base64 !== undefined && { base64 }),
    ...nextRecord(state, "delivery"),
    at: now,
    signature: "right",
    verdict: "pending",
    reason: "",
    attempts: [],
    dueAt: now,
    resendOf: known.id,
  });
}

function addDelivery(
  { changes }: EmulatorState,
  workspace: WorkspaceState,
  delivery: DeliveryRecord,
): DeliveryRecord {
  keep(workspace.deliveries, delivery);
  changes.publish({ kind: "delivery", delivery });
  return delivery;
}

/** Bytes that a caller gave. */
export function encodeBody(body: string | Uint8Array): SentBody {
  if (typeof body === "string") return { body };
  const bytes = Buffer.from(body);
  return { body: bytes.toString("utf8"), ...(!isUtf8(bytes) && { base64: bytes.toString("base64") }) };
}

/** What is signed and sent. */
export function decodeBody({ sent, base64 }: DeliveryRecord): string | Uint8Array {
  return base64 === undefined ? sent.body : Buffer.from(base64, "base64");
}

/** A message (section 2.4) as JSON.stringify or as PHP's json_encode writes it. */
export function encodeMessage(message: OutboundMessage, encoding: Reading<"deliveryEncoding">): SentBody {
  const json = serializeMessage(message);
  return { body: encoding === "php" ? escapeAsPhp(json) : json };
}

/** As JSON.stringify, but a conversation id beyond the safe integers (a bigint) is written with all its digits. */
function serializeMessage(message: OutboundMessage): string {
  if (typeof message.conv_id !== "bigint") return JSON.stringify(message);
  const { conv_id, ...rest } = message;
  return JSON.stringify({ ...rest, conv_id: 0 }).replace(/0\}$/, `${conv_id}}`);
}

/** PHP escapes slashes, and all that is not ASCII: beyond the BMP as two surrogates. A slash appears only in texts. */
function escapeAsPhp(json: string): string {
  return json
    .replaceAll("/", String.raw`\/`)
    .replace(/[\u0080-\uffff]/g, (unit) => String.raw`\u` + unit.charCodeAt(0).toString(16).padStart(4, "0"));
}
