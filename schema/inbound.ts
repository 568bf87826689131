import * as z from "zod";
import { MEDIA_KINDS, type InboundKind } from "./message-kind.js";
import { named, requestUrl, sentConversationId } from "./parts.js";

/** The zod schema for {@link Sender}. */
export const sender = z.strictObject({
  /**
   * The contact's identifier in the external system. Deliveries contain it as `sender_id`.
   * @minLength 1
   */
  id: z.string().min(1),
  /** The contact's display name; may be empty. */
  name: z.string(),
  /** Sent as an empty string, or left out: the specification does not say whether the field is required. */
  email: z.literal("").optional(),
  /** Sent as an empty string, or left out: the specification does not say whether the field is required. */
  phone_number: z.literal("").optional(),
  /** Always `contact`. */
  type: z.literal("contact"),
});

/** The contact that a message comes from (section 2.3). Strict: other fields are rejected. */
export interface Sender extends z.infer<typeof sender> {}

/** The fields of every inbound message (sections 2.3 and 4.2). */
const common = {
  /** Always `incoming`. */
  message_type: z.literal("incoming"),
  /** The contact that the message comes from. */
  sender: named<Sender>(sender),
  /**
   * The conversation's number in the external system. Numbers beyond JavaScript's safe integers are rejected.
   * @TJS-type integer
   * @minimum -9007199254740991
   * @maximum 9007199254740991
   */
  conversation_id: sentConversationId,
};

/** The zod schema for {@link InboundTextMessage}. */
export const inboundTextMessage = z.strictObject({
  ...common,
  /** `message_created`. */
  event: z.literal("message_created"),
  /**
   * The text. The specification shows an empty text only in attachment messages, so here it must not be empty.
   * @minLength 1
   */
  content: z.string().min(1),
});

/** A text from a contact (section 4.2). */
export interface InboundTextMessage extends z.infer<typeof inboundTextMessage> {}

/** The zod schema for {@link SubmittedValue}. */
export const submittedValue = z.strictObject({
  /** The button's title. */
  title: z.string(),
  /** The button's payload. */
  payload: z.string(),
});

/** The button that was pressed (section 2.3). */
export interface SubmittedValue extends z.infer<typeof submittedValue> {}

/** The zod schema for {@link InboundButtonMessage}. */
export const inboundButtonMessage = z.strictObject({
  ...common,
  /** `message_postback`. */
  event: z.literal("message_postback"),
  /** The button's title, the same as in `submitted_values`. */
  content: z.string(),
  /** Exactly one entry: the button that was pressed. */
  submitted_values: z.tuple([named<SubmittedValue>(submittedValue)]),
});

/** A press of a button by a contact (section 4.2). */
export interface InboundButtonMessage extends z.infer<typeof inboundButtonMessage> {}

/** The zod schema for {@link MediaAttachment}. */
export const mediaAttachment = z.strictObject({
  /** The kind of the media. */
  file_type: z.enum(MEDIA_KINDS),
  /**
   * Absolute http or https URL of the media.
   * @pattern ^[Hh][Tt][Tt][Pp][Ss]?://[^\s/?#]\S*$
   */
  data_url: requestUrl,
});

/** An image, audio, video or other file attached to a message (section 2.3). */
export interface MediaAttachment extends z.infer<typeof mediaAttachment> {}

/** The zod schema for {@link InboundMediaMessage}. */
export const inboundMediaMessage = z.strictObject({
  ...common,
  /** `message_created`. */
  event: z.literal("message_created"),
  /** Empty: an attachment message has no text. */
  content: z.literal(""),
  /** Exactly one entry: the media. */
  attachments: z.tuple([named<MediaAttachment>(mediaAttachment)]),
});

/** An image, audio, video or other file from a contact (section 4.2). */
export interface InboundMediaMessage extends z.infer<typeof inboundMediaMessage> {}

/** The zod schema for {@link InboundMessage}. */
export const inboundMessage = z.union([inboundTextMessage, inboundButtonMessage, inboundMediaMessage]);

/** Every message that may be posted to `bot_url` (section 4.2). Strict: other fields are rejected. */
export type InboundMessage = InboundTextMessage | InboundButtonMessage | InboundMediaMessage;

/** The zod schema of each kind of message (section 4.2). Its errors name the wrong field; the union's do not. */
export const inboundShapes: Readonly<Record<InboundKind, z.ZodType<InboundMessage>>> = {
  text: inboundTextMessage,
  button: inboundButtonMessage,
  image: inboundMediaMessage,
  audio: inboundMediaMessage,
  video: inboundMediaMessage,
  file: inboundMediaMessage,
};
