import { samples } from "../../../tools/schema/samples.ts";
import {
  entryOf,
  literal,
  missing,
  receivedUrl,
  requiredString,
  type CorpusEntry,
  type ValuesByPath,
} from "./corpus-values.js";

const [button] = samples.OutboundButtonTemplate.content_attributes.buttons;
const [card] = samples.OutboundGenericTemplate.content_attributes.items;

const acceptedInDelivery: ValuesByPath = {
  conv_id: [0, -7, 9007199254740993n, -9007199254740993n],
  private: [true],
  workspace: ["unknown fields are let through"],
};
const rejectedInDelivery: ValuesByPath = {
  sender_id: requiredString,
  conv_id: [missing, "42", null, 1.5, true, [42], "9007199254740993"],
  message_type: literal("outgoing"),
  private: [missing, "false", 0, null],
};
function rejectedInButton(path: string): ValuesByPath {
  return {
    [path]: [null, "x", 5, []],
    [`${path}.type`]: requiredString,
    [`${path}.title`]: requiredString,
    [`${path}.payload`]: requiredString,
  };
}

/** The seven kinds of deliveries (section 2.4). */
export const outboundCorpus: readonly CorpusEntry[] = [
  entryOf("OutboundText", "outbound", {
    accepted: { ...acceptedInDelivery, text: [""], content_type: [null] },
    rejected: {
      ...rejectedInDelivery,
      type: literal("text"),
      text: requiredString,
      content_type: ["button_template", "", 5],
    },
  }),
  entryOf(
    "OutboundImage",
    "outbound",
    {
      accepted: {
        ...acceptedInDelivery,
        type: ["audio", "video", "file"],
        url: ["http://localhost:1/a b.png", "HTTPS://cdn.example"],
      },
      rejected: { ...rejectedInDelivery, type: [...literal("image"), "text"], url: receivedUrl },
    },
    "OutboundMedia",
  ),
  entryOf("OutboundButtonTemplate", "outbound", {
    accepted: {
      ...acceptedInDelivery,
      "content_attributes.buttons": [[], Array.from({ length: 20 }, () => button)],
      "content_attributes.buttons.0.type": ["web_url"],
      "content_attributes.buttons.0.url": ["unknown fields are let through"],
    },
    rejected: {
      ...rejectedInDelivery,
      type: [...literal("text"), "button_template"],
      text: requiredString,
      content_type: [...literal("button_template"), "generic_template"],
      content_attributes: [missing, null, "x", [], {}],
      "content_attributes.text": requiredString,
      "content_attributes.buttons": [missing, null, {}, "x"],
      ...rejectedInButton("content_attributes.buttons.0"),
    },
  }),
  entryOf("OutboundGenericTemplate", "outbound", {
    accepted: {
      ...acceptedInDelivery,
      "content_attributes.ratio": ["square"],
      "content_attributes.items": [[], Array.from({ length: 12 }, () => card)],
      "content_attributes.items.0.image_url": [""],
      "content_attributes.items.0.item_url": [missing, "", "https://shop.example/1"],
      "content_attributes.items.0.default_action": [
        missing,
        {},
        { type: "web_url", url: "https://shop.example" },
      ],
      "content_attributes.items.0.buttons": [[]],
    },
    rejected: {
      ...rejectedInDelivery,
      type: [...literal("text"), "generic_template"],
      text: requiredString,
      content_type: [...literal("generic_template"), "button_template"],
      content_attributes: [missing, null, "x", [], {}],
      "content_attributes.ratio": requiredString,
      "content_attributes.items": [missing, null, {}, "x"],
      "content_attributes.items.0": [null, "x", []],
      "content_attributes.items.0.title": requiredString,
      "content_attributes.items.0.image_url": receivedUrl.filter((value) => value !== ""),
      "content_attributes.items.0.item_url": [5, true, [], {}, "/1", "ftp://shop.example"],
      "content_attributes.items.0.subtitle": requiredString,
      "content_attributes.items.0.default_action": ["x", 5, [], true],
      "content_attributes.items.0.buttons": [missing, null, {}, "x"],
      ...rejectedInButton("content_attributes.items.0.buttons.0"),
    },
  }),
];
