import { MEDIA_KINDS } from "./media-kind.js";

/** The six kinds of message that a contact sends (section 4.2), `button` for a press. */
export const INBOUND_KINDS = ["text", "button", ...MEDIA_KINDS] as const;

/** A kind of message that a contact sends. */
export type InboundKind = (typeof INBOUND_KINDS)[number];

/**
 * Tells which of the six operations a message means, from `event` and the kind of its attachment alone: the rest of it may be
 * wrong. Undefined if they name none.
 */
export function inboundKindOf(message: unknown): InboundKind | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  const { event, attachments } = message as { event?: unknown; attachments?: unknown };
  if (event === "message_postback") return "button";
  if (event !== "message_created") return undefined;
  return attachments === undefined ? "text" : attachedKindOf(attachments);
}

function attachedKindOf(attachments: unknown): InboundKind | undefined {
  const first: unknown = Array.isArray(attachments) ? attachments[0] : undefined;
  if (typeof first !== "object" || first === null) return undefined;
  const { file_type: fileType } = first as { file_type?: unknown };
  return MEDIA_KINDS.find((kind) => kind === fileType);
}
