import { MEDIA_KINDS } from "./media-kind.js";

/** The kinds of delivery (section 2.4). */
export type OutboundKind =
  "text" | "image" | "audio" | "video" | "file" | "button_template" | "generic_template";

/** What the `content_type` of a text says. */
const TEMPLATE_KINDS: readonly unknown[] = ["button_template", "generic_template"] satisfies OutboundKind[];

/** Tells the kind of a parsed delivery from `type` and `content_type` alone; what is not in the specification is "unknown". */
export function outboundKindOf(message: unknown): OutboundKind | "unknown" {
  if (typeof message !== "object" || message === null) return "unknown";
  const { type, content_type: contentType } = message as { type?: unknown; content_type?: unknown };
  if (type !== "text") return MEDIA_KINDS.find((kind) => kind === type) ?? "unknown";
  // A template is a text too; null and "" say as little as nothing.
  if (contentType === undefined || contentType === null || contentType === "") return "text";
  return TEMPLATE_KINDS.includes(contentType) ? (contentType as OutboundKind) : "unknown";
}
