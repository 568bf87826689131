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
import {
  receivedButtonTemplate,
  receivedGenericTemplate,
  receivedMedia,
  receivedText,
} from "./received-outbound.js";

/** A delivery of one of the seven kinds, with its kind. */
export type KnownOutbound =
  | {
      /** What `type` and `content_type` say it is. */
      kind: "text";
      /** Its fields, in the form of the specification. */
      message: OutboundText;
    }
  | { kind: MediaKind; message: OutboundMedia }
  | { kind: "button_template"; message: OutboundButtonTemplate }
  | { kind: "generic_template"; message: OutboundGenericTemplate };

/** A delivery with its kind. A kind that is not in the specification has `raw` only. */
export type ParsedOutbound = (KnownOutbound | { kind: "unknown" }) & {
  /** The whole body as parsed JSON. */
  raw: unknown;
};

/** One wrong field of a delivery: its path, empty for the whole body, and what is expected. */
export interface OutboundIssue {
  /** The field, such as `content_attributes.buttons[0].title`; empty for the whole body. */
  path: string;
  /** What is expected there, without the value. */
  reason: string;
}

/** A delivery that is not JSON, or whose fields are wrong for its kind. The message contains no values of the delivery. */
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

/** What decides the kind (section 2.4). */
const discriminators = z.object({ type: z.string(), content_type: z.string().nullish() });

/**
 * Parses the body of a delivery (section 6.2) and determines its kind (section 2.4): `unknown` if its `type`, or the
 * `content_type` of a text, is not in the specification. Variants that mean the same are converted: null and missing texts,
 * lists and links, numbers as text, `[]` for no object, 0 for false, URLs without scheme. Fields that are not in the
 * specification are dropped; `raw` has everything as received. A `conv_id` beyond the safe integers becomes a bigint, with
 * all its digits.
 * Check the signature first, on the same bytes. Throws an {@link OutboundFormatError} that names each wrong field.
 */
export function parseOutbound(body: string | Uint8Array): ParsedOutbound {
  return parseAs(RECEIVED, body);
}

/** Like {@link parseOutbound}, but accepts only the form of the specification, for messages to send. */
export function parseSentOutbound(body: string): ParsedOutbound {
  return parseAs(SENT, body);
}

function parseAs(shapes: Shapes, body: string | Uint8Array): ParsedOutbound {
  const raw = parseJson(body);
  const kind = outboundKindOf(parseShape(discriminators, raw));
  if (kind === "unknown") return { kind, raw };
  const shape = kind in shapes ? shapes[kind as keyof Shapes] : shapes.media;
  return { kind, message: parseShape(shape, raw), raw } as ParsedOutbound;
}

/** The schema of each kind; the four kinds of media share one. */
type Shapes = Record<Exclude<OutboundKind, MediaKind> | "media", z.ZodType<OutboundMessage>>;

const SENT: Shapes = {
  text: outboundText,
  media: outboundMedia,
  button_template: outboundButtonTemplate,
  generic_template: outboundGenericTemplate,
};

const RECEIVED: Shapes = {
  text: receivedText,
  media: receivedMedia,
  button_template: receivedButtonTemplate,
  generic_template: receivedGenericTemplate,
};

function parseJson(body: string | Uint8Array): unknown {
  try {
    const text = typeof body === "string" ? body : new TextDecoder("utf-8", { fatal: true }).decode(body);
    return JSON.parse(text, reviveIds);
  } catch {
    // Without the cause, because its message quotes the contact's text.
    throw new OutboundFormatError([
      { path: "", reason: "the body is not JSON in UTF-8; pass the raw body of the request" },
    ]);
  }
}

/** Texts in the specification that a service may write as numbers. */
const TEXT_IDS = new Set(["sender_id", "payload"]);

/** No id loses its digits. */
function reviveIds(key: string, value: unknown, context?: { source?: string }): unknown {
  if (!TEXT_IDS.has(key)) return reviveConversationId(key, value, context);
  return typeof value === "number" && !Number.isSafeInteger(value) ? (context?.source ?? value) : value;
}

function parseShape<Shape>(shape: z.ZodType<Shape>, raw: unknown): Shape {
  const result = shape.safeParse(raw);
  if (result.success) return result.data;
  throw new OutboundFormatError(
    result.error.issues.map(({ path, message }) => ({ path: z.core.toDotPath(path), reason: message })),
  );
}
