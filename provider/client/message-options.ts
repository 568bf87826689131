import type { Sender } from "../../schema/inbound.js";
import type { MediaKind } from "../../schema/media-kind.js";

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
  /** Not empty. */
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

/** A message by its kind: the options of `sendText`, `sendButton`, or of the method of its media. */
export type MessageOfKind =
  | ({ kind: "text" } & SendTextOptions)
  | ({ kind: "button" } & SendButtonOptions)
  | ({ kind: MediaKind } & SendMediaOptions);

// What these give is checked afterwards: their callers may have no types.

/** A text (section 4.2). */
export const textMessage = (options: SendTextOptions): unknown => ({
  content: options.text,
  ...common(options),
  event: "message_created",
});

/** A press of a button (section 4.2). */
export const buttonMessage = (options: SendButtonOptions): unknown => ({
  content: options.title,
  ...common(options),
  event: "message_postback",
  submitted_values: [{ title: options.title, payload: options.payload }],
});

/** An image, an audio, a video or a file (section 4.2). */
export const mediaMessage = (fileType: MediaKind, options: SendMediaOptions): unknown => ({
  content: "",
  ...common(options),
  event: "message_created",
  attachments: [{ file_type: fileType, data_url: options.url }],
});

/** A message of one of the six kinds. */
export function messageOfKind(options: MessageOfKind): unknown {
  if (options.kind === "text") return textMessage(options);
  return options.kind === "button" ? buttonMessage(options) : mediaMessage(options.kind, options);
}

function common({ sender, conversationId }: MessageAddress) {
  const { id, name, email = "", phone_number = "" }: Partial<MessageAddress["sender"]> = sender ?? {};
  return {
    message_type: "incoming",
    sender: { id, name, email, phone_number, type: "contact" },
    conversation_id: conversationId,
  };
}

const OPTION_OF_FIELD = new Map([
  ["content", "text"],
  ["conversation_id", "conversationId"],
  ["submitted_values[0].title", "title"],
  ["submitted_values[0].payload", "payload"],
  ["attachments[0].data_url", "url"],
]);

/** The option behind a field on the wire. */
export const optionOfField = (field: string): string => OPTION_OF_FIELD.get(field) ?? field;

/** As {@link optionOfField}: a button's title stands in two fields. */
export const optionOfButtonField = (field: string): string =>
  field === "content" ? "title" : optionOfField(field);
