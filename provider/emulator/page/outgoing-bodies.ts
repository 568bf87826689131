import type { InboundMessage, OutboundMessage } from "../../../schema/index.js";
import type { MediaKind } from "../../../schema/media-kind.js";
import type { ShownButton } from "./message-content.js";

/** Who writes in which conversation. */
export interface Party {
  contactId: string;
  contactName: string;
  /** The digits of the conversation id: it may be beyond the safe integers. */
  conversationId: string;
}

/** What a contact sends (section 4.2). */
export type ContactInput =
  | { kind: "text"; text: string }
  | { kind: MediaKind; url: string }
  | { kind: "postback"; title: string; payload: string };

/** A card as the form gives it: empty URLs mean none. */
export interface CardInput {
  title: string;
  subtitle: string;
  imageUrl: string;
  itemUrl: string;
  buttons: ShownButton[];
}

/** What an agent answers: the seven kinds of section 2.4. */
export type AgentInput =
  | { kind: "text"; text: string }
  | { kind: MediaKind; url: string }
  | { kind: "button_template"; text: string; buttons: ShownButton[] }
  | { kind: "generic_template"; text: string; cards: CardInput[] };

type Without<Message, Key extends string> = Message extends unknown ? Omit<Message, Key> : never;

/** The JSON text of a contact's message (section 2.3). */
export function contactBody(party: Party, input: ContactInput): string {
  const sender = {
    id: party.contactId,
    name: party.contactName,
    email: "",
    phone_number: "",
    type: "contact",
  } as const;
  return withDigits("conversation_id", party.conversationId, {
    ...contactFields(input),
    message_type: "incoming",
    sender,
  } satisfies Without<InboundMessage, "conversation_id">);
}

function contactFields(input: ContactInput) {
  switch (input.kind) {
    case "text":
      return { event: "message_created", content: input.text } as const;
    case "postback": {
      const { title, payload } = input;
      const values: [ShownButton] = [{ title, payload }];
      return { event: "message_postback", content: title, submitted_values: values } as const;
    }
    case "image":
      return attachment({ file_type: "image", data_url: input.url });
    case "audio":
      return attachment({ file_type: "audio", data_url: input.url });
    case "video":
      return attachment({ file_type: "video", data_url: input.url });
    case "file":
    default:
      return attachment({ file_type: "file", data_url: input.url });
  }
}

function attachment<Attachment>(value: Attachment) {
  const attachments: [Attachment] = [value];
  return { event: "message_created", content: "", attachments } as const;
}

/** The JSON text of an agent's answer (section 2.4). */
export function agentBody(party: Party, input: AgentInput): string {
  return withDigits("conv_id", party.conversationId, {
    sender_id: party.contactId,
    message_type: "outgoing",
    private: false,
    ...agentFields(input),
  } satisfies Without<OutboundMessage, "conv_id">);
}

function agentFields(input: AgentInput) {
  switch (input.kind) {
    case "text":
      return { type: "text", text: input.text } as const;
    case "button_template": {
      const { text } = input;
      const content_attributes = { text, buttons: input.buttons.map(postback) };
      return { type: "text", text, content_type: "button_template", content_attributes } as const;
    }
    case "generic_template": {
      const content_attributes = { ratio: "horizontal", items: input.cards.map(item) };
      return {
        type: "text",
        text: input.text,
        content_type: "generic_template",
        content_attributes,
      } as const;
    }
    case "image":
      return { type: "image", url: input.url } as const;
    case "audio":
      return { type: "audio", url: input.url } as const;
    case "video":
      return { type: "video", url: input.url } as const;
    case "file":
    default:
      return { type: "file", url: input.url } as const;
  }
}

function postback({ title, payload }: ShownButton) {
  return { type: "postback", title, payload };
}

function item(card: CardInput) {
  return {
    title: card.title,
    image_url: card.imageUrl,
    item_url: card.itemUrl === "" ? null : card.itemUrl,
    subtitle: card.subtitle,
    default_action: null,
    buttons: card.buttons.map(postback),
  };
}

/** Whether a text is an integer as JSON writes it. */
function isConversationId(text: string): boolean {
  return /^-?(?:0|[1-9]\d*)$/.test(text);
}

/** JSON.stringify would round an id beyond the safe integers. */
function withDigits(key: string, digits: string, rest: object): string {
  if (!isConversationId(digits)) throw new TypeError(`${key}: expected an integer`);
  return `{"${key}":${digits},${JSON.stringify(rest).slice(1)}`;
}
