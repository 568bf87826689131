import { delivered, refused, type ContractCase } from "../contract-case.ts";

const COMMON = { sender_id: "7", conv_id: 12, message_type: "outgoing", private: false };
const BUTTONS = [{ type: "postback", title: "Yes", payload: "yes" }];

/** One message of each kind of section 2.4, and what is none of them. */
const MESSAGES = [
  ["text", { ...COMMON, type: "text", text: "olá" }],
  ["image", { ...COMMON, type: "image", url: "https://files.example/1.png" }],
  ["audio", { ...COMMON, type: "audio", url: "https://files.example/1.mp3" }],
  ["video", { ...COMMON, type: "video", url: "https://files.example/1.mp4" }],
  ["file", { ...COMMON, type: "file", url: "https://files.example/1.pdf" }],
  [
    "button_template",
    {
      ...COMMON,
      type: "text",
      text: "Shall we?",
      content_type: "button_template",
      content_attributes: { text: "Shall we?", buttons: BUTTONS },
    },
  ],
  [
    "generic_template",
    {
      ...COMMON,
      type: "text",
      text: "Our offer",
      content_type: "generic_template",
      content_attributes: {
        ratio: "horizontal",
        items: [{ title: "One", item_url: null, buttons: BUTTONS }],
      },
    },
  ],
  ["text", { ...COMMON, type: "text", text: "x", content_type: null, new_field: [1, { a: null }] }],
  ["unknown", { ...COMMON, type: "sticker", url: "https://files.example/1.webp" }],
  ["unknown", { ...COMMON, type: "text", content_type: "list_template", content_attributes: {} }],
  ["unknown", { ...COMMON, type: null }],
  ["unknown", {}],
  ["unknown", [{ type: "text" }]],
  ["unknown", null],
] as const;

const ids: [digits: string, value: number | bigint][] = [
  ["9007199254740991", 9007199254740991],
  ["9007199254740993", 9007199254740993n],
  ["-9007199254740993", -9007199254740993n],
];

const text = { type: "text", text: "x" };
const body = JSON.stringify(text);

export const messageCases: ContractCase[] = [
  ...MESSAGES.map(([kind, message]): ContractCase => ({
    name: `kind ${kind}: ${JSON.stringify(message)}`,
    request: { body: JSON.stringify(message), signed: {} },
    expected: delivered(kind, message),
  })),
  ...ids.map(([digits, value]): ContractCase => ({
    name: `every digit of conv_id ${digits} is kept`,
    request: { body: `{"type":"text","conv_id":${digits}}`, signed: {} },
    expected: delivered("text", { type: "text", conv_id: value }),
  })),
  {
    name: "x-flow-ns and x-action are given to the handler, whatever the case of their names",
    request: {
      body,
      signed: {},
      headers: [
        ["X-Flow-NS", "f123"],
        ["x-action", "messages"],
      ],
    },
    expected: delivered("text", text, { flowNs: "f123", action: "messages" }),
  },
  {
    name: "another x-action is delivered too",
    request: { body, signed: {}, headers: [["X-Action", "typing"]] },
    expected: delivered("text", text, { action: "typing" }),
  },
  {
    name: "a signed message that speaks of a handshake is a delivery",
    request: {
      body: '{"type":"text","text":"hub_mode=subscribe&hub_verify_token=k&hub_challenge=c"}',
      signed: {},
    },
    expected: delivered("text", {
      type: "text",
      text: "hub_mode=subscribe&hub_verify_token=k&hub_challenge=c",
    }),
  },
  {
    name: "a handler that throws",
    request: { body, signed: {} },
    options: { program: "handler throws" },
    expected: refused(500, "handler_failed"),
  },
  {
    name: "a handler that cannot take it now",
    request: { body, signed: {} },
    options: { program: "handler is unavailable" },
    expected: { ...refused(503, "unavailable"), headers: { "retry-after": "7" } },
  },
  {
    name: "keys that cannot be had",
    request: { body, signed: {} },
    options: { program: "keys throw" },
    expected: refused(500, "keys_unavailable"),
  },
];
