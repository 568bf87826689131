import { isUtf8 } from "node:buffer";
import type { OutboundMessage } from "../../../schema/outbound.js";
import { keep, nextRecord, type DeliveryRecord, type EmulatorState, type WorkspaceState } from "../state.js";
import type { Reading } from "../switches.js";

/** The bytes of a delivery that was not sent yet, as its record holds them. */
export type SentBody = Pick<DeliveryRecord, "request" | "base64">;

/** What a delivery is made of. */
type NewDelivery = Omit<
  DeliveryRecord,
  "id" | "order" | "at" | "signature" | "verdict" | "reason" | "status" | "attempts"
>;

/** Records a delivery that is still to come, and reports it. */
export function recordDelivery(
  state: EmulatorState,
  workspace: WorkspaceState,
  known: NewDelivery,
  numbered = nextRecord(state, "delivery"),
): DeliveryRecord {
  const delivery: DeliveryRecord = {
    ...known,
    ...numbered,
    at: new Date().toISOString(),
    signature: "right",
    verdict: "pending",
    reason: "",
    attempts: [],
  };
  keep(workspace.deliveries, delivery);
  state.changes.publish({ kind: "delivery", delivery });
  return delivery;
}

/** A new delivery of the same bytes and headers as one that was sent, but for what `changed` says. */
export function recordCopy(
  state: EmulatorState,
  workspace: WorkspaceState,
  { status: _status, ...known }: DeliveryRecord,
  changed: Partial<SentBody> = {},
): DeliveryRecord {
  const dueAt = new Date().toISOString();
  return recordDelivery(state, workspace, { ...known, ...changed, dueAt, resendOf: known.id });
}

/** Bytes that a caller gave. */
export function encodeBody(body: string | Uint8Array): SentBody {
  const bytes = Buffer.from(body);
  const request = { headers: {}, body: bytes.toString("utf8") };
  return isUtf8(bytes) ? { request } : { request, base64: bytes.toString("base64") };
}

/** What is signed and sent. */
export function decodeBody({ request, base64 }: DeliveryRecord): string | Uint8Array {
  return base64 === undefined ? request.body : Buffer.from(base64, "base64");
}

/** A message (section 2.4) as JSON.stringify or as PHP's json_encode writes it. */
export function encodeMessage(message: OutboundMessage, encoding: Reading<"deliveryEncoding">): SentBody {
  const json = serializeMessage(message);
  return encodeBody(encoding === "php" ? escapeAsPhp(json) : json);
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
