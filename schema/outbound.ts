import * as z from "zod";
import { MEDIA_KINDS } from "./message-kind.js";
import { named, receivedConversationId, receivedUrl, receivedUrlOrEmpty } from "./parts.js";

/** The fields of every delivery (section 2.4). */
const common = {
  /** The contact that gets the reply: the `sender.id` in the contact's messages. */
  sender_id: z.string(),
  /**
   * The conversation: a number, or a bigint if a number would lose digits. It is probably the `conversation_id` of the
   * contact's messages; the specification does not say.
   * @TJS-type integer
   */
  conv_id: receivedConversationId,
  /** Always `outgoing`. */
  message_type: z.literal("outgoing"),
  /** `false` in every delivery. */
  private: z.boolean(),
};

/** The fields of a text and of the templates. */
const text = {
  ...common,
  /** `text`, also for a template: only `content_type` distinguishes a template from a text. */
  type: z.literal("text"),
  /** The text of the reply. */
  text: z.string(),
};

/** The zod schema for {@link OutboundText}. */
export const outboundText = z.object({
  ...text,
  /** Missing or null. A text with a `content_type` is a template or of an unknown kind. */
  content_type: z.null().optional(),
});

/** A text (section 2.4). */
export interface OutboundText extends z.infer<typeof outboundText> {}

/** The zod schema for {@link OutboundMedia}. */
export const outboundMedia = z.object({
  ...common,
  /** The kind of the delivery. */
  type: z.enum(MEDIA_KINDS),
  /**
   * Absolute http or https URL of the file.
   * @pattern ^[Hh][Tt][Tt][Pp][Ss]?://[^\s/?#]
   */
  url: receivedUrl,
});

/** An image, audio, video or other file (section 2.4). */
export interface OutboundMedia extends z.infer<typeof outboundMedia> {}

/** The zod schema for {@link Button}. */
export const button = z.object({
  /** The specification shows only `postback`; other values are accepted. */
  type: z.string(),
  /** The button's title. A press sends it back, as `content` and `submitted_values[0].title`. */
  title: z.string(),
  /** The value that a press sends back, as `submitted_values[0].payload`. */
  payload: z.string(),
});

/** A button of a template (section 2.4). */
export interface Button extends z.infer<typeof button> {}

/** The zod schema for {@link ButtonTemplateAttributes}. */
export const buttonTemplateAttributes = z.object({
  /** A text. The specification does not say where it is displayed. */
  text: z.string(),
  /** The buttons. The specification does not limit their number. */
  buttons: z.array(named<Button>(button)),
});

/** The content of a button template (section 2.4). */
export interface ButtonTemplateAttributes extends z.infer<typeof buttonTemplateAttributes> {}

/** The zod schema for {@link OutboundButtonTemplate}. */
export const outboundButtonTemplate = z.object({
  ...text,
  /** `button_template`. */
  content_type: z.literal("button_template"),
  /** The text and its buttons. */
  content_attributes: named<ButtonTemplateAttributes>(buttonTemplateAttributes),
});

/** A text with buttons (section 2.4). */
export interface OutboundButtonTemplate extends z.infer<typeof outboundButtonTemplate> {}

/** The action when a card is pressed; its structure is not in the specification (section 2.4). */
export interface DefaultAction {
  [key: string]: unknown;
}

/** The zod schema for {@link GenericTemplateItem}. */
export const genericTemplateItem = z.object({
  /** The card's title. */
  title: z.string(),
  /**
   * Absolute http or https URL of the card's image, or empty.
   * @pattern ^$|^[Hh][Tt][Tt][Pp][Ss]?://[^\s/?#]
   */
  image_url: receivedUrlOrEmpty,
  /**
   * Absolute http or https URL of the card; null, missing or empty if it has none.
   * @pattern ^$|^[Hh][Tt][Tt][Pp][Ss]?://[^\s/?#]
   */
  item_url: receivedUrlOrEmpty.nullish(),
  /** The card's subtitle. */
  subtitle: z.string(),
  /** Null, missing, or an object whose structure is not in the specification. */
  default_action: named<DefaultAction>(z.record(z.string(), z.unknown())).nullish(),
  /** The card's buttons. The specification does not limit their number. */
  buttons: z.array(named<Button>(button)),
});

/** A card of a generic template (section 2.4). */
export interface GenericTemplateItem extends z.infer<typeof genericTemplateItem> {}

/** The zod schema for {@link GenericTemplateAttributes}. */
export const genericTemplateAttributes = z.object({
  /** The specification shows only `horizontal`; other values are accepted. */
  ratio: z.string(),
  /** One entry per card. The specification does not limit their number. */
  items: z.array(named<GenericTemplateItem>(genericTemplateItem)),
});

/** The content of a generic template (section 2.4). */
export interface GenericTemplateAttributes extends z.infer<typeof genericTemplateAttributes> {}

/** The zod schema for {@link OutboundGenericTemplate}. */
export const outboundGenericTemplate = z.object({
  ...text,
  /** `generic_template`. */
  content_type: z.literal("generic_template"),
  /** The cards. */
  content_attributes: named<GenericTemplateAttributes>(genericTemplateAttributes),
});

/** A card, or a carousel of several (section 2.4). */
export interface OutboundGenericTemplate extends z.infer<typeof outboundGenericTemplate> {}

/** The zod schema for {@link OutboundMessage}; parseOutbound also returns the kind. */
export const outboundMessage = z.union([
  outboundText,
  outboundMedia,
  outboundButtonTemplate,
  outboundGenericTemplate,
]);

/** Every delivery of a known kind (section 2.4). Unknown fields are dropped. */
export type OutboundMessage = OutboundText | OutboundMedia | OutboundButtonTemplate | OutboundGenericTemplate;
