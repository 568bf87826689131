import type { InboundMessage, OutboundMessage } from "../../../schema/index.js";
import type { MediaKind } from "../../../schema/message-kind.js";
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
  if (input.kind === "text") return { event: "message_created", content: input.text } as const;
  if (input.kind === "postback") {
    const { title, payload } = input;
    const values: [ShownButton] = [{ title, payload }];
    return { event: "message_postback", content: title, submitted_values: values } as const;
  }
  const attachments = [{ file_type: input.kind, data_url: input.url }] as const;
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

/** One type for each kind, as the messages have them. */
type MediaFields = { [Kind in MediaKind]: { type: Kind; url: string } }[MediaKind];

function agentFields(input: AgentInput) {
  if (input.kind === "text") return { type: "text", text: input.text } as const;
  if (input.kind === "button_template") {
    const { kind, text } = input;
    const content_attributes = { text, buttons: input.buttons.map(postback) };
    return { type: "text", text, content_type: kind, content_attributes } as const;
  }
  if (input.kind === "generic_template") {
    const { kind, text } = input;
    const content_attributes = { ratio: "horizontal", items: input.cards.map(item) };
    return { type: "text", text, content_type: kind, content_attributes } as const;
  }
  const media: MediaFields = { type: input.kind, url: input.url };
  return media;
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
