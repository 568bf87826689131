import * as z from "zod";
import { MEDIA_KINDS } from "./message-kind.js";
import {
  outboundText,
  type Button,
  type ButtonTemplateAttributes,
  type DefaultAction,
  type GenericTemplateAttributes,
  type GenericTemplateItem,
} from "./outbound.js";
import {
  receivedConversationId,
  receivedUrl,
  receivedUrlOrEmpty,
  type ReceivedConversationId,
} from "./parts.js";

// The shapes of outbound.ts as a service may write them; one in PHP easily mixes up null, "", [], 0 and false. Each is converted
// to the shape in outbound.ts and then validated as there.

/** For a required field. */
const converted = <Taken, Given>(shape: z.ZodType<Given>, convert: (taken: Taken) => unknown) =>
  z.custom<Taken>().transform(convert).pipe(shape);

/** For a field that may be missing or null. */
const convertedIfAny = <Taken, Given>(
  shape: z.ZodType<Given>,
  convert: (taken: Taken | null | undefined) => unknown,
) => z.custom<Taken>().nullish().transform(convert).pipe(shape);

const isBlank = (taken: unknown): boolean => (taken ?? "") === "";

const isNothing = (taken: unknown): boolean => isBlank(taken) || (Array.isArray(taken) && taken.length === 0);

const toText = (taken: unknown): unknown => (typeof taken === "number" ? String(taken) : taken);

/** PHP writes a list as an object where its keys have gaps. */
function toList(taken: unknown): unknown {
  if (isBlank(taken)) return [];
  return typeof taken === "object" ? Object.values(taken as object) : taken;
}

const toAbsolute = (taken: unknown): unknown =>
  typeof taken === "string" && taken.startsWith("//") ? `https:${taken}` : taken;

/** BigInt would take long for more digits than any ID has. */
const toConversationId = (taken: unknown): unknown => {
  if (typeof taken !== "string" || !/^-?\d{1,40}$/.test(taken)) return taken;
  return Number.isSafeInteger(Number(taken)) ? Number(taken) : BigInt(taken);
};

type WrittenBoolean = boolean | 0 | 1 | "" | "0" | "1" | "false" | "true";
const BOOLEANS = new Map<unknown, boolean>([
  ...[undefined, null, "", 0, "0", "false"].map((taken) => [taken, false] as const),
  ...[1, "1", "true"].map((taken) => [taken, true] as const),
]);

const requiredText = converted<string | number, string>(z.string(), toText);
const looseText = convertedIfAny<string | number, string>(z.string(), (taken) => toText(taken ?? ""));
const looseList = <Entry, Taken, WithGaps>(entry: z.ZodType<Entry, Taken>) =>
  convertedIfAny<Taken[] | WithGaps | "", Entry[]>(z.array(entry), toList);
const looseAttributes = <Attributes, Taken>(shape: z.ZodType<Attributes, Taken>) =>
  convertedIfAny<Taken | [] | "", Attributes>(shape, (taken) => (isNothing(taken) ? {} : taken));

const common = {
  /** The contact that the reply addresses. A number is also accepted. */
  sender_id: requiredText,
  /**
   * The conversation. Digits as text are also accepted.
   * @TJS-type ["integer", "string"]
   * @pattern ^-?\d{1,40}$
   */
  conv_id: converted<ReceivedConversationId | string, ReceivedConversationId>(
    receivedConversationId,
    toConversationId,
  ),
  /** `outgoing`; null, empty and missing mean the same. */
  message_type: convertedIfAny<"outgoing" | "", "outgoing">(z.literal("outgoing"), (taken) =>
    isBlank(taken) ? "outgoing" : taken,
  ),
  /** `false` in all kinds that are delivered. Also as PHP writes it: 0, 1, their digits, empty; null and missing mean false. */
  private: convertedIfAny<WrittenBoolean, boolean>(z.boolean(), (taken) => BOOLEANS.get(taken) ?? taken),
};

export const receivedText = z.object({
  ...common,
  /** `text`. */
  type: z.literal("text"),
  /** The text of the reply. A number is also accepted. */
  text: requiredText,
  /** Missing, null or empty: with another `content_type` it is a template, or of a kind that is not in the specification. */
  content_type: convertedIfAny<"", null | undefined>(outboundText.shape.content_type, (taken) =>
    taken === "" ? null : taken,
  ),
});

/** A text (section 2.4). */
interface ReceivedText extends z.input<typeof receivedText> {}

export const receivedMedia = z.object({
  ...common,
  /** The kind of the delivery. */
  type: z.enum(MEDIA_KINDS),
  /**
   * Absolute http or https URL of the file, or one without its scheme, which is read as https.
   * @pattern ^([Hh][Tt][Tt][Pp][Ss]?:)?//[^\s/?#]
   */
  url: converted<string, string>(receivedUrl, toAbsolute),
});

/** An image, a sound, a video or a file (section 2.4). */
interface ReceivedMedia extends z.input<typeof receivedMedia> {}

const receivedButton = z.object({
  /** `postback` is the only value shown. Missing and null are read as empty, here and in the other texts. */
  type: looseText,
  /** The button's title. */
  title: looseText,
  /** What a press sends back. */
  payload: looseText,
});

/** A button of a template (section 2.4). */
interface ReceivedButton extends z.input<typeof receivedButton> {}

/** Buttons of which some are missing, as PHP writes them: by their position. */
interface ReceivedButtonsWithGaps {
  [position: string]: ReceivedButton;
}

const receivedButtons = looseList<Button, ReceivedButton, ReceivedButtonsWithGaps>(receivedButton);

const receivedButtonTemplateAttributes = z.object({
  /** A text; where it is displayed is not in the specification. */
  text: looseText,
  /** The buttons; missing, null and empty mean none. A list with gaps may come as an object. */
  buttons: receivedButtons,
});

/** The content of a button template (section 2.4). */
interface ReceivedButtonTemplateAttributes extends z.input<typeof receivedButtonTemplateAttributes> {}

export const receivedButtonTemplate = z.object({
  ...common,
  /** `text`, as in a plain text: `content_type` tells them apart. */
  type: z.literal("text"),
  /** The text of the reply. */
  text: looseText,
  /** `button_template`. */
  content_type: z.literal("button_template"),
  /** The text and its buttons. */
  content_attributes: looseAttributes<ButtonTemplateAttributes, ReceivedButtonTemplateAttributes>(
    receivedButtonTemplateAttributes,
  ),
});

/** A text with buttons (section 2.4). */
interface ReceivedButtonTemplate extends z.input<typeof receivedButtonTemplate> {}

const receivedGenericTemplateItem = z.object({
  /** The card's title. */
  title: looseText,
  /**
   * Absolute http or https URL of the card's image, or one without its scheme; empty, null and missing mean none.
   * @pattern ^$|^([Hh][Tt][Tt][Pp][Ss]?:)?//[^\s/?#]
   */
  image_url: convertedIfAny<string, string>(receivedUrlOrEmpty, (taken) => toAbsolute(taken ?? "")),
  /**
   * Absolute http or https URL of the card, or one without its scheme; empty, null and missing mean none.
   * @pattern ^$|^([Hh][Tt][Tt][Pp][Ss]?:)?//[^\s/?#]
   */
  item_url: convertedIfAny<string, string | null>(receivedUrlOrEmpty.nullable(), (taken) =>
    isBlank(taken) ? null : toAbsolute(taken),
  ),
  /** The card's subtitle. */
  subtitle: looseText,
  /** An object whose structure is not in the specification; null, missing, `[]` and empty mean none. */
  default_action: convertedIfAny<DefaultAction | [] | "", DefaultAction | null>(
    z.record(z.string(), z.unknown()).nullable(),
    (taken) => (isNothing(taken) ? null : taken),
  ),
  /** The card's buttons; missing, null and empty mean none. A list with gaps may come as an object. */
  buttons: receivedButtons,
});

/** A card of a generic template (section 2.4). */
interface ReceivedGenericTemplateItem extends z.input<typeof receivedGenericTemplateItem> {}

/** Cards of which some are missing, as PHP writes them: by their position. */
interface ReceivedItemsWithGaps {
  [position: string]: ReceivedGenericTemplateItem;
}

const receivedGenericTemplateAttributes = z.object({
  /** `horizontal` is the only value shown; others are accepted. */
  ratio: looseText,
  /** One entry per card; missing, null and empty mean none. A list with gaps may come as an object. */
  items: looseList<GenericTemplateItem, ReceivedGenericTemplateItem, ReceivedItemsWithGaps>(
    receivedGenericTemplateItem,
  ),
});

/** The content of a generic template (section 2.4). */
interface ReceivedGenericTemplateAttributes extends z.input<typeof receivedGenericTemplateAttributes> {}

export const receivedGenericTemplate = z.object({
  ...common,
  /** `text`, as in a plain text: `content_type` tells them apart. */
  type: z.literal("text"),
  /** The text of the reply. */
  text: looseText,
  /** `generic_template`. */
  content_type: z.literal("generic_template"),
  /** The cards. */
  content_attributes: looseAttributes<GenericTemplateAttributes, ReceivedGenericTemplateAttributes>(
    receivedGenericTemplateAttributes,
  ),
});

/** A card, or a carousel of several (section 2.4). */
interface ReceivedGenericTemplate extends z.input<typeof receivedGenericTemplate> {}

/**
 * Every delivery of a known kind (section 2.4) as parseOutbound accepts it, including variants that the specification does
 * not show. Unknown fields are dropped.
 */
export type ReceivedOutbound =
  ReceivedText | ReceivedMedia | ReceivedButtonTemplate | ReceivedGenericTemplate;
