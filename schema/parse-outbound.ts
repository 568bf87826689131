import * as z from "zod";
import { outboundKindOf, reviveConversationId, type MediaKind, type OutboundKind } from "./message-kind.js";
import {
  outboundButtonTemplate,
  outboundGenericTemplate,
  outboundMedia,
  outboundText,
  type OutboundButtonTemplate,
  type OutboundGenericTemplate,
  type OutboundMedia,
  type OutboundMessage,
  type OutboundText,
} from "./outbound.js";
import { toSpecifiedForm } from "./received-outbound.js";

/** A delivery of one of the seven kinds, with its kind. */
export type KnownOutbound =
  | {
      /** The kind, from `type` and `content_type`. */
      kind: "text";
      /** The fields, in the form of the specification. */
      message: OutboundText;
    }
  | { kind: MediaKind; message: OutboundMedia }
  | { kind: "button_template"; message: OutboundButtonTemplate }
  | { kind: "generic_template"; message: OutboundGenericTemplate };

/** A delivery with its kind. One that the specification does not describe has the kind `unknown` and only `raw`. */
export type ParsedOutbound = (KnownOutbound | { kind: "unknown" }) & {
  /** The whole body as parsed JSON. */
  raw: unknown;
};

/** One wrong field of a delivery. */
export interface OutboundIssue {
  /** The field, such as `content_attributes.buttons[0].title`; empty for the whole body. */
  path: string;
  /** What is expected, without the actual value. */
  reason: string;
}

/** Thrown if a body is not JSON, or if a message to send has wrong fields. The error contains no values. */
export class OutboundFormatError extends Error {
  /** Always `OutboundFormatError`. */
  override readonly name = "OutboundFormatError";
  /** All wrong fields, not only the first. */
  readonly issues: readonly OutboundIssue[];

  constructor(issues: readonly OutboundIssue[]) {
    const lines = issues.map(({ path, reason }) => (path === "" ? reason : `${path}: ${reason}`));
    super(`not an outbound message: ${lines.join("; ")}`);
    this.issues = issues;
  }
}

/** The fields that determine the kind (section 2.4). */
const discriminators = z.object({ type: z.string(), content_type: z.string().nullish() });

/**
 * Parses the body of a delivery (section 6.2) and determines its kind (section 2.4). Accepts IDs as strings or numbers,
 * and optional fields that are missing, null or empty, and converts them to the specified form in `message`. If
 * anything else deviates from the specification, such as a new `type` or a wrong field, the kind is `unknown`. Drops
 * additional fields; `raw` contains everything as received. A `conv_id` beyond the safe integers becomes a bigint.
 * Check the signature first, on the same bytes. Throws an {@link OutboundFormatError} if the body is not JSON in UTF-8.
 */
export function parseOutbound(body: string | Uint8Array): ParsedOutbound {
  const raw = parseJson(body);
  const kind = outboundKindOf(raw);
  if (kind === "unknown") return { kind, raw };
  const { data: message } = shapeOf(kind).safeParse(toSpecifiedForm(kind, raw));
  return message === undefined ? { kind: "unknown", raw } : ({ kind, message, raw } as ParsedOutbound);
}

/**
 * Like {@link parseOutbound}, but for messages to send: accepts only the form of the specification. Throws an
 * {@link OutboundFormatError} that names each wrong field.
 */
export function parseSentOutbound(body: string): ParsedOutbound {
  const raw = parseJson(body);
  const kind = outboundKindOf(parseShape(discriminators, raw));
  if (kind === "unknown") return { kind, raw };
  return { kind, message: parseShape(shapeOf(kind), raw), raw } as ParsedOutbound;
}

function shapeOf(kind: OutboundKind): z.ZodType<OutboundMessage> {
  if (kind === "text") return outboundText;
  if (kind === "button_template") return outboundButtonTemplate;
  return kind === "generic_template" ? outboundGenericTemplate : outboundMedia;
}

function parseJson(body: string | Uint8Array): unknown {
  try {
    const text = typeof body === "string" ? body : new TextDecoder("utf-8", { fatal: true }).decode(body);
    return JSON.parse(text, reviveIds);
  } catch {
    // The cause is left out, because its message quotes the contact's text.
    throw new OutboundFormatError([
      { path: "", reason: "the body is not JSON in UTF-8; pass the raw body of the request" },
    ]);
  }
}

/** Keeps all digits of large IDs. */
function reviveIds(key: string, value: unknown, context?: { source?: string }): unknown {
  if (key !== "sender_id") return reviveConversationId(key, value, context);
  return typeof value === "number" && !Number.isSafeInteger(value) ? (context?.source ?? value) : value;
}

function parseShape<Shape>(shape: z.ZodType<Shape>, raw: unknown): Shape {
  const result = shape.safeParse(raw);
  if (result.success) return result.data;
  throw new OutboundFormatError(
    result.error.issues.map(({ path, message }) => ({ path: z.core.toDotPath(path), reason: message })),
  );
}
