import type { InboundMessage } from "../../../schema/index.js";

/** The four kinds of media: `file_type` of an attachment, `type` of a reply. */
export const MEDIA_KINDS = ["image", "audio", "video", "file"] as const;

/** A kind of media. */
export type MediaKind = (typeof MEDIA_KINDS)[number];

/** The six kinds of message that a contact sends (section 4.2), `button` for a press. */
export const INBOUND_KINDS = ["text", "button", ...MEDIA_KINDS] as const;

/** A kind of message that a contact sends. */
export type InboundKind = (typeof INBOUND_KINDS)[number];

/** Tells the kind of a contact's message. */
export function inboundKindOf(message: InboundMessage): InboundKind {
  if ("attachments" in message) return message.attachments[0].file_type;
  return message.event === "message_postback" ? "button" : "text";
}

/** The payload of the button that was pressed; undefined if none was. */
export function payloadOf(message: InboundMessage): string | undefined {
  return "submitted_values" in message ? message.submitted_values[0].payload : undefined;
}
