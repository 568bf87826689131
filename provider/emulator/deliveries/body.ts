import type { OutboundMessage } from "../../../schema/index.js";
import type { DeliveryEncoding } from "../switches.js";

/** The bytes of a message (section 2.4), as JSON.stringify or as PHP's json_encode writes it. */
export function encodeMessage(message: OutboundMessage, encoding: DeliveryEncoding): Uint8Array {
  const json = serializeMessage(message);
  return encodeText(encoding === "php" ? escapeAsPhp(json) : json);
}

export function encodeText(text: string): Uint8Array {
  // Small Buffers share their memory: faster to make and to collect than arrays of their own.
  return Buffer.from(text);
}

/** As JSON.stringify, but a conversation id beyond the safe integers (a bigint) is written with all its digits. */
function serializeMessage(message: OutboundMessage): string {
  if (typeof message.conv_id !== "bigint") return JSON.stringify(message);
  const { conv_id, ...rest } = message;
  return JSON.stringify({ ...rest, conv_id: 0 }).replace(/0\}$/, `${conv_id}}`);
}

/** PHP escapes slashes, and all that is not ASCII: beyond the BMP as two surrogates. A slash stands only in texts. */
function escapeAsPhp(json: string): string {
  return json
    .replaceAll("/", String.raw`\/`)
    .replace(/[\u0080-\uffff]/g, (unit) => String.raw`\u` + unit.charCodeAt(0).toString(16).padStart(4, "0"));
}
