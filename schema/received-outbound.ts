import type { OutboundKind } from "./message-kind.js";

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isAbsent = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);

/** An object with these values where its own are absent; any other value unchanged. */
function fill(value: unknown, defaults: Fields): unknown {
  if (!isObject(value)) return value;
  const absent = Object.entries(defaults).filter(([name]) => isAbsent(value[name]));
  return { ...value, ...Object.fromEntries(absent) };
}

/** Fields that some kinds have in addition to the common ones, and may leave out. */
const OPTIONAL: Partial<Record<OutboundKind, Fields>> = {
  button_template: { text: "", content_attributes: {} },
  generic_template: { text: "", content_attributes: {} },
};
const ATTRIBUTES = { text: "", ratio: "", buttons: [], items: [] };
const CARD = { title: "", subtitle: "", image_url: "", item_url: null, default_action: null, buttons: [] };
const BUTTON = { type: "", title: "", payload: "" };

/** Fills each entry of the lists of an object, and the lists within them. */
function fillLists(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { buttons, items } = value;
  return {
    ...value,
    ...(Array.isArray(buttons) && { buttons: buttons.map((one) => fill(one, BUTTON)) }),
    ...(Array.isArray(items) && { items: items.map((one) => fillLists(fill(one, CARD))) }),
  };
}

/** Limits the digits, because BigInt takes long for very many. No ID has this many. */
const INTEGER = /^-?\d{1,40}$/;

function toConversationId(id: unknown): unknown {
  if (typeof id !== "string" || !INTEGER.test(id)) return id;
  return Number.isSafeInteger(Number(id)) ? Number(id) : BigInt(id);
}

/** Converts string and number IDs, and fills optional fields that are missing, null or empty. */
export function toSpecifiedForm(kind: OutboundKind, raw: unknown): unknown {
  const message = fill(raw, { message_type: "outgoing", private: false, ...OPTIONAL[kind] });
  if (!isObject(message)) return message;
  const { sender_id: sender, content_type: contentType, content_attributes: attributes } = message;
  return {
    ...message,
    sender_id: typeof sender === "number" ? String(sender) : sender,
    conv_id: toConversationId(message["conv_id"]),
    ...(contentType === "" && { content_type: null }),
    content_attributes: fillLists(fill(attributes, ATTRIBUTES)),
  };
}
