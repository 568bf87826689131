// Determines the kind of a message without its schema, so that importing this file does not load zod.

/** The four kinds of media, in the specification's order: values of `file_type` (attachment) and `type` (delivery). */
export const MEDIA_KINDS = ["image", "audio", "video", "file"] as const;

/** A kind of media. */
export type MediaKind = (typeof MEDIA_KINDS)[number];

/** The six kinds of message that a contact sends (section 4.2). `button` is the press of a button. */
export const INBOUND_KINDS = ["text", "button", ...MEDIA_KINDS] as const;

/** A kind of message that a contact sends. */
export type InboundKind = (typeof INBOUND_KINDS)[number];

/**
 * Returns the kind of a message from its `event` and attachment alone, even if other fields are wrong.
 * Returns undefined if these two do not determine a kind.
 */
export function inboundKindOf(message: unknown): InboundKind | undefined {
  const { event, attachments } = (message ?? {}) as { event?: unknown; attachments?: unknown };
  if (event === "message_postback") return "button";
  if (event !== "message_created") return undefined;
  if (attachments === undefined) return "text";
  const [first] = Array.isArray(attachments) ? (attachments as ({ file_type?: unknown } | null)[]) : [];
  return MEDIA_KINDS.find((kind) => kind === first?.file_type);
}

/** The kinds of delivery (section 2.4). */
export type OutboundKind =
  "text" | "image" | "audio" | "video" | "file" | "button_template" | "generic_template";

/** The values of `content_type` that make a text a template. */
const TEMPLATE_KINDS: readonly unknown[] = ["button_template", "generic_template"] satisfies OutboundKind[];

/**
 * Returns the kind of a parsed delivery from `type` and `content_type` alone; "unknown" if the specification
 * has no such kind.
 */
export function outboundKindOf(message: unknown): OutboundKind | "unknown" {
  const { type, content_type: contentType } = (message ?? {}) as { type?: unknown; content_type?: unknown };
  if (type !== "text") return MEDIA_KINDS.find((kind) => kind === type) ?? "unknown";
  // A template also has the type "text"; a `content_type` of null or "" counts as missing.
  if (contentType === undefined || contentType === null || contentType === "") return "text";
  return TEMPLATE_KINDS.includes(contentType) ? (contentType as OutboundKind) : "unknown";
}

/** Limits the digits, because formatting a bigint of a million digits takes a second. No integer type has as many. */
const MAX_DIGITS = 100;

/**
 * A reviver for JSON.parse that returns a `conv_id` beyond the safe integers as a bigint, so that no digit is
 * lost. A `conv_id` with more than 100 digits stays a number.
 */
export function reviveConversationId(key: string, value: unknown, context?: { source?: string }): unknown {
  if (key !== "conv_id" || typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const digits = context?.source ?? "";
  return digits.length <= MAX_DIGITS && /^-?\d+$/.test(digits) ? BigInt(digits) : value;
}
