import type { OutboundKind } from "./message-kind.js";

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isAbsent = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);

/** Fills in `defaults` for the fields that an object lacks. Returns anything but an object unchanged. */
function fill(value: unknown, defaults: Fields): unknown {
  if (!isObject(value)) return value;
  const absent = Object.entries(defaults).filter(([name]) => isAbsent(value[name]));
  return { ...value, ...Object.fromEntries(absent) };
}

/** The defaults of optional fields that only some kinds have. */
const OPTIONAL: Partial<Record<OutboundKind, Fields>> = {
  button_template: { text: "", content_attributes: {} },
  generic_template: { text: "", content_attributes: {} },
};
const ATTRIBUTES = { text: "", ratio: "", buttons: [], items: [] };
const CARD = { title: "", subtitle: "", image_url: "", item_url: null, default_action: null, buttons: [] };
const BUTTON = { type: "", title: "", payload: "" };

/** Fills in defaults in each entry of an object's lists, and in the lists within these entries. */
function fillLists(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { buttons, items } = value;
  return {
    ...value,
    ...(Array.isArray(buttons) && { buttons: buttons.map((one) => fill(one, BUTTON)) }),
    ...(Array.isArray(items) && { items: items.map((one) => fillLists(fill(one, CARD))) }),
  };
}

/** Limits the number of digits, because BigInt is slow with very many. No real ID has more than 40. */
const INTEGER = /^-?\d{1,40}$/;

function toConversationId(id: unknown): unknown {
  if (typeof id !== "string" || !INTEGER.test(id)) return id;
  return Number.isSafeInteger(Number(id)) ? Number(id) : BigInt(id);
}

/** Converts IDs to the specified types, and fills optional fields that are missing, null or empty. */
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
