import { inboundKindOf, outboundKindOf, type MediaKind } from "../../../schema/message-kind.js";

export interface ShownButton {
  title: string;
  payload: string;
}

export interface ShownCard {
  title: string;
  subtitle: string;
  imageUrl: unknown;
  itemUrl: unknown;
  buttons: ShownButton[];
}

/** What of a message is shown. A message that is none of the known kinds is shown as its JSON. */
export type MessageContent =
  | { kind: "text"; text: string }
  | { kind: "postback"; title: string; payload: string }
  | { kind: "media"; media: MediaKind; url: unknown }
  | { kind: "buttons"; text: string; buttons: ShownButton[] }
  | { kind: "cards"; text: string; cards: ShownCard[] }
  | { kind: "unknown"; json: string };

/** Reads a body of section 2.3 or 2.4. Nothing is taken for granted: scenarios and faults may send anything. */
export function contentOf(body: unknown): MessageContent {
  const message = objectOf(body);
  return message["message_type"] === "incoming" ? inboundContent(message) : outboundContent(message);
}

type Loose = Record<string, unknown>;

function inboundContent(message: Loose): MessageContent {
  const kind = inboundKindOf(message);
  const text = message["content"];
  if (kind === undefined) return unknownContent(message);
  if (kind === "text") return typeof text === "string" ? { kind, text } : unknownContent(message);
  if (kind === "button") {
    const pressed = objectOf(listOf(message["submitted_values"])[0]);
    return { kind: "postback", title: textOf(pressed["title"]), payload: textOf(pressed["payload"]) };
  }
  return { kind: "media", media: kind, url: objectOf(listOf(message["attachments"])[0])["data_url"] };
}

function outboundContent(message: Loose): MessageContent {
  const kind = outboundKindOf(message);
  const attributes = objectOf(message["content_attributes"]);
  const text = textOf(message["text"]);
  if (kind === "unknown") return unknownContent(message);
  if (kind === "text") return { kind, text };
  if (kind === "button_template") {
    return { kind: "buttons", text: textOf(attributes["text"]) || text, buttons: buttonsOf(attributes) };
  }
  if (kind === "generic_template") {
    return { kind: "cards", text, cards: listOf(attributes["items"]).map(cardOf) };
  }
  return { kind: "media", media: kind, url: message["url"] };
}

function cardOf(value: unknown): ShownCard {
  const item = objectOf(value);
  return {
    title: textOf(item["title"]),
    subtitle: textOf(item["subtitle"]),
    imageUrl: item["image_url"],
    itemUrl: item["item_url"],
    buttons: buttonsOf(item),
  };
}

function buttonsOf(holder: Loose): ShownButton[] {
  return listOf(holder["buttons"])
    .map(objectOf)
    .map((button) => ({ title: textOf(button["title"]), payload: textOf(button["payload"]) }));
}

const unknownContent = (message: Loose): MessageContent => ({
  kind: "unknown",
  json: JSON.stringify(message, null, 2),
});

const objectOf = (value: unknown): Loose =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Loose) : {};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
