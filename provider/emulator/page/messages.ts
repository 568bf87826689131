import type { InboundMessage, OutboundMessage } from "../../../schema/index.js";
import type { ConversationView } from "../control/shapes.js";
import { inboundKindOf, outboundKindOf, type MediaKind } from "../../../schema/message-kind.js";

/** A contact and a conversation. */
export type Party = Pick<ConversationView, "contactId" | "contactName" | "conversationId">;

export interface PostbackButton {
  title: string;
  payload: string;
}

/** A card of a carousel; a URL that is not given is empty. */
export interface Card {
  title: string;
  subtitle: string;
  image_url: string;
  item_url: string;
  buttons: readonly PostbackButton[];
}

type TextOrMedia = { kind: "text"; text: string } | { kind: MediaKind; url: string };

/** What a contact sends (section 4.2). */
export type ContactContent = TextOrMedia | ({ kind: "button" } & PostbackButton);

/** What an agent writes on the page. */
export type AgentContent =
  TextOrMedia | { kind: "button_template"; text: string; buttons: readonly PostbackButton[] };

/** What a flow or an agent replies: the seven kinds of section 2.4. */
type ReplyContent = AgentContent | { kind: "generic_template"; text: string; cards: readonly Card[] };

/** What is shown of a message. A message of an unknown kind is shown as its JSON. */
export type MessageContent = ContactContent | ReplyContent | { kind: "unknown"; json: string };

/** The names of the kinds on the page. */
export const KIND_NAMES = {
  text: "Text",
  button_template: "Buttons",
  generic_template: "Carousel",
  image: "Picture",
  audio: "Audio",
  video: "Video",
  file: "File",
} as const;

/** Reads a body of section 2.3 or 2.4. Nothing is taken for granted: scenarios and faults may send anything. */
export function contentOf(body: unknown): MessageContent {
  const message = objectOf(body);
  const content = message["message_type"] === "incoming" ? inboundContent(message) : outboundContent(message);
  return content ?? { kind: "unknown", json: JSON.stringify(message, null, 2) };
}

type Loose = Record<string, unknown>;

function inboundContent(message: Loose): ContactContent | undefined {
  const kind = inboundKindOf(message);
  const text = message["content"];
  if (kind === undefined) return undefined;
  if (kind === "text") return typeof text === "string" ? { kind, text } : undefined;
  if (kind === "button") return { kind, ...buttonOf(listOf(message["submitted_values"])[0]) };
  return { kind, url: textOf(objectOf(listOf(message["attachments"])[0])["data_url"]) };
}

function outboundContent(message: Loose): ReplyContent | undefined {
  const kind = outboundKindOf(message);
  const attributes = objectOf(message["content_attributes"]);
  const text = textOf(message["text"]);
  if (kind === "unknown") return undefined;
  if (kind === "text") return { kind, text };
  if (kind === "button_template") {
    return { kind, text: textOf(attributes["text"]) || text, buttons: buttonsOf(attributes) };
  }
  if (kind === "generic_template") return { kind, text, cards: listOf(attributes["items"]).map(cardOf) };
  return { kind, url: textOf(message["url"]) };
}

function cardOf(value: unknown): Card {
  const item = objectOf(value);
  return {
    title: textOf(item["title"]),
    subtitle: textOf(item["subtitle"]),
    image_url: textOf(item["image_url"]),
    item_url: textOf(item["item_url"]),
    buttons: buttonsOf(item),
  };
}

const buttonsOf = (holder: Loose): PostbackButton[] => listOf(holder["buttons"]).map(buttonOf);

function buttonOf(value: unknown): PostbackButton {
  const { title, payload } = objectOf(value);
  return { title: textOf(title), payload: textOf(payload) };
}

const objectOf = (value: unknown): Loose =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Loose) : {};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A text as it is, anything else as JSON, nothing as "". */
const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value ?? undefined) ?? "");

type Without<Message, Key extends string> = Message extends unknown ? Omit<Message, Key> : never;

/** The JSON of a contact's message (section 2.3). */
export function contactBody(party: Party, content: ContactContent): string {
  const { contactId: id, contactName: name } = party;
  return withDigits("conversation_id", party, {
    ...contactFields(content),
    message_type: "incoming",
    sender: { id, name, email: "", phone_number: "", type: "contact" },
  } satisfies Without<InboundMessage, "conversation_id">);
}

function contactFields(content: ContactContent) {
  if (content.kind === "text") return { event: "message_created", content: content.text } as const;
  if (content.kind === "button") {
    const { title, payload } = content;
    const submitted_values: [PostbackButton] = [{ title, payload }];
    return { event: "message_postback", content: title, submitted_values } as const;
  }
  const attachments = [{ file_type: content.kind, data_url: content.url }] as const;
  return { event: "message_created", content: "", attachments } as const;
}

/** The JSON of an agent's reply (section 2.4). The emulator adds the fields that are the same in every reply. */
export const agentBody = (party: Party, content: AgentContent): string =>
  withDigits("conv_id", party, { sender_id: party.contactId, ...agentFields(content) } satisfies Without<
    OutboundMessage,
    "conv_id" | "message_type" | "private"
  >);

/** One type for each kind, as the messages have them. */
type MediaFields = { [Kind in MediaKind]: { type: Kind; url: string } }[MediaKind];

function agentFields(content: AgentContent) {
  const { kind } = content;
  if (kind === "text") return { type: kind, text: content.text } as const;
  if (kind === "button_template") {
    const { text } = content;
    const buttons = content.buttons.map((button) => ({ type: "postback", ...button }) as const);
    const content_attributes = { text, buttons };
    return { type: "text", text, content_type: kind, content_attributes } as const;
  }
  const media: MediaFields = { type: kind, url: content.url };
  return media;
}

/** JSON.stringify would round a conversation id beyond the safe integers. */
const withDigits = (key: string, { conversationId }: Party, rest: object): string =>
  `{"${key}":${conversationId},${JSON.stringify(rest).slice(1)}`;
