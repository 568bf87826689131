import type * as z from "zod";
import { INBOUND_KINDS, inboundKindOf, type MediaKind } from "../../schema/message-kind.js";
import { inboundShapes, type InboundMessage, type Sender } from "../../schema/inbound.js";
import { renderProblem } from "../errors/index.js";
import { parse } from "../lib/validate.js";
import { invalidOptions } from "./options.js";

/** Who sends a message, and in which conversation. */
export interface MessageAddress {
  /**
   * The contact: `id` in the external system, and `name` for display. `email` and `phone_number` are sent as empty strings
   * (section 2.3); no other value is accepted.
   */
  sender: Pick<Sender, "id" | "name" | "email" | "phone_number">;
  /** The conversation, in the external system's own numbers: an integer. */
  conversationId: number;
}

export interface SendTextOptions extends MessageAddress {
  /** Must not be empty. */
  text: string;
}

export interface SendButtonOptions extends MessageAddress {
  /** The title of the button that the contact pressed. */
  title: string;
  /** Its payload, as the delivery gave it. */
  payload: string;
}

export interface SendMediaOptions extends MessageAddress {
  /** Absolute http or https URL of the media. */
  url: string;
}

export interface SendOptions {
  /** Ends this call; the promise rejects with the signal's reason. The service may have taken the message. */
  signal?: AbortSignal;
}

/**
 * The service's response to a message that it accepted. The specification defines neither status nor body (section
 * 4.2).
 */
export interface MessageReceipt {
  /** Any of 200 to 299. */
  httpStatus: number;
  /**
   * The parsed JSON, or the text if it is not JSON. Undefined if the body is empty, incomplete or larger than 1 MiB:
   * only the status counts.
   */
  body: unknown;
  /** How many requests were sent. */
  attempts: number;
}

/** A message by its kind: the options of `sendText`, `sendButton`, or of the method of its media. */
export type MessageOfKind =
  | ({ kind: "text" } & SendTextOptions)
  | ({ kind: "button" } & SendButtonOptions)
  | ({ kind: MediaKind } & SendMediaOptions);

/** A message of section 4.2, not checked yet: its caller may have no types. */
function messageOfKind(options: MessageOfKind): unknown {
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

const OPTION_OF_FIELD = new Map([
  ["content", "text"],
  ["conversation_id", "conversationId"],
  ["submitted_values[0].title", "title"],
  ["submitted_values[0].payload", "payload"],
  ["attachments[0].data_url", "url"],
]);

/** The option behind a field on the wire; a button's title is in two fields. */
function optionOfField(field: string, { kind }: MessageOfKind): string {
  if (kind === "button" && field === "content") return "title";
  return OPTION_OF_FIELD.get(field) ?? field;
}

/** A message in its shape on the wire (section 4.2), or by its kind. */
export type BatchMessage = InboundMessage | MessageOfKind;

/** What a caller without types may hand over in place of a message. */
interface MessageLike {
  conversation_id?: unknown;
  conversationId?: unknown;
  sender?: { id?: unknown } | null;
}

/**
 * Checks a message against its shape of section 4.2. Throws `invalid_config` naming the fields that are wrong, by the names
 * that the caller knows, and none of their values.
 */
export function checkMessage(message: unknown, nameOf = (field: string): string => field): InboundMessage {
  const { data, problems } = parse(shapeOf(message), message);
  if (problems === undefined) return data;
  const named = problems.map(({ field, text }) => ({ field: nameOf(field), text }));
  // A button's title is two fields on the wire.
  const distinct = new Map(named.map((problem) => [renderProblem(problem), problem]));
  throw invalidOptions("message", [...distinct.values()], "message");
}

/** Like {@link checkMessage}, but for a message in either shape. */
export function checkBatchMessage(message: BatchMessage): InboundMessage {
  if (isWire(message)) return checkMessage(message);
  if (!(INBOUND_KINDS as readonly unknown[]).includes(message.kind)) {
    throw refuse("kind", `must be one of ${INBOUND_KINDS.join(", ")}; or pass a message in wire format`);
  }
  return checkMessage(messageOfKind(message), (field) => optionOfField(field, message));
}

/**
 * Messages in wire format have no `kind`. A value that is not an object is treated as wire format, so that its check
 * refuses it.
 */
function isWire(message: BatchMessage | null | undefined): message is InboundMessage {
  if (typeof message !== "object" || message === null) return true;
  return !("kind" in message) && ("message_type" in message || "event" in message);
}

/** The schema that a message is meant to match. An error of the union of all schemas would name no field. */
function shapeOf(message: unknown): z.ZodType<InboundMessage> {
  const kind = inboundKindOf(message);
  if (kind !== undefined) return inboundShapes[kind];
  // Every schema reports a value that is not an object.
  if (typeof message !== "object" || message === null) return inboundShapes.text;
  if ("event" in message && message.event === "message_created") {
    throw refuse("attachments", "must be a list of one, with the file_type image, audio, video or file");
  }
  throw refuse("event", 'must be "message_created" or "message_postback"');
}

const refuse = (field: string, text: string): Error =>
  invalidOptions("message", [{ field, text }], "message");

/**
 * The key of a message's conversation (section 2.3), in either shape. Also works for a value that is not a message,
 * which then fails validation.
 */
export const conversationOf = (message: MessageLike | null | undefined): string =>
  `${String(message?.conversation_id ?? message?.conversationId)} ${String(message?.sender?.id)}`;
