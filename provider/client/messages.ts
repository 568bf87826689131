import type * as z from "zod";
import { INBOUND_KINDS, inboundKindOf, type MediaKind } from "../../schema/message-kind.js";
import { inboundShapes, type InboundMessage, type Sender } from "../../schema/inbound.js";
import { invalidFields, type FieldProblem } from "../errors/index.js";
import { parse } from "../lib/validate.js";

/** Who sends a message, and in which conversation. */
export interface MessageAddress {
  /**
   * The contact: `id` in the external system, and `name` for display. `email` and `phone_number` are sent as
   * empty strings (section 2.3); no other value is accepted.
   */
  sender: Pick<Sender, "id" | "name" | "email" | "phone_number">;
  /** The conversation's number in the external system: an integer. */
  conversationId: number;
}

/** A text (section 4.2). */
export interface SendTextOptions extends MessageAddress {
  /** Must not be empty. */
  text: string;
}

/** The press of a button that a delivery offered (section 4.2). */
export interface SendButtonOptions extends MessageAddress {
  /** The title of the button that the contact pressed. */
  title: string;
  /** The button's payload, as in the delivery. */
  payload: string;
}

/** An image, an audio file, a video or any other file, given as a URL (section 4.2). */
export interface SendMediaOptions extends MessageAddress {
  /** Absolute http or https URL of the media. */
  url: string;
}

/** The options of one call. */
export interface SendOptions {
  /** Ends this call; the promise rejects with the signal's reason. The service may have accepted the message. */
  signal?: AbortSignal;
}

/** The service's response to an accepted message. The specification does not define the response (section 4.2). */
export interface MessageReceipt {
  /** The HTTP status, from 200 to 299. */
  httpStatus: number;
  /**
   * The parsed JSON, or the text if it is not JSON. Undefined if the body is empty, incomplete or larger than
   * 1 MiB: that is not an error, because only the status matters.
   */
  body: unknown;
  /** How many requests were sent. */
  attempts: number;
}

/** A message, given as its kind and the options of `sendText`, `sendButton` or the method for its media. */
export type MessageOfKind =
  | ({
      /** The kind of message, which determines its other options. */
      kind: "text";
    } & SendTextOptions)
  | ({ kind: "button" } & SendButtonOptions)
  | ({ kind: MediaKind } & SendMediaOptions);

/** A message, given in wire format (section 4.2) or as its kind and options. */
export type MessageToSend = InboundMessage | MessageOfKind;

/** Throws an `invalid_config` error that names the wrong fields as the caller's options do. It contains no values. */
export function checkMessage(message: MessageToSend): InboundMessage {
  const ofKind = isWire(message) ? undefined : message;
  if (ofKind && !(INBOUND_KINDS as readonly unknown[]).includes(ofKind.kind)) {
    const text = `must be one of ${INBOUND_KINDS.join(", ")}; or pass a message in wire format`;
    throw invalidFields([{ field: "kind", text }], { where: "message", operation: "message" });
  }
  const wire = ofKind ? toWire(ofKind) : message;
  const { data, problems } = parse(shapeOf(wire), wire);
  if (problems === undefined) return data;
  const named = ofKind ? nameOptions(problems, ofKind) : problems;
  throw invalidFields(named, { where: "message", operation: "message" });
}

/** A value that is not an object is treated as wire format, so that the check of the wire format rejects it. */
const isWire = (message: MessageToSend | null | undefined): message is InboundMessage =>
  typeof message !== "object" ||
  message === null ||
  (!("kind" in message) && ("message_type" in message || "event" in message));

/** Builds a message of section 4.2. Its values are not checked yet: a JavaScript caller may pass anything. */
function toWire(options: MessageOfKind): unknown {
  const { id, name, email = "", phone_number = "" }: Partial<MessageAddress["sender"]> = options.sender ?? {};
  const common = {
    message_type: "incoming",
    sender: { id, name, email, phone_number, type: "contact" },
    conversation_id: options.conversationId,
    event: "message_created",
  };
  if (options.kind === "text") return { ...common, content: options.text };
  if (options.kind === "button") {
    const { title, payload } = options;
    return { ...common, event: "message_postback", content: title, submitted_values: [{ title, payload }] };
  }
  return { ...common, content: "", attachments: [{ file_type: options.kind, data_url: options.url }] };
}

/** The schema that a message is meant to match. The union of all schemas would fail without naming a field. */
function shapeOf(message: unknown): z.ZodType<InboundMessage> {
  const has = (field: string): boolean => typeof message === "object" && message !== null && field in message;
  const kind = has("attachments") ? "image" : has("submitted_values") ? "button" : "text";
  return inboundShapes[inboundKindOf(message) ?? kind];
}

const OPTION_OF_FIELD: Partial<Record<string, string>> = {
  content: "text",
  conversation_id: "conversationId",
  "submitted_values[0].title": "title",
  "submitted_values[0].payload": "payload",
  "attachments[0].data_url": "url",
};

/** Replaces the names of wire fields with those of options. Names a button's title once: two fields have it. */
const nameOptions = (problems: readonly FieldProblem[], { kind }: MessageOfKind): FieldProblem[] =>
  problems
    .filter(({ field }) => kind !== "button" || field !== "content")
    .map(({ field, text }) => ({ field: OPTION_OF_FIELD[field] ?? field, text }));
