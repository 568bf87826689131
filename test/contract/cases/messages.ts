import { caseOf, casesOf, delivered, rejected, type ContractCase } from "../contract-case.ts";

/** The kind follows from `type` and `content_type` alone (section 2.4). */
const MESSAGES = [
  [
    "text",
    { sender_id: "7", conv_id: 12, message_type: "outgoing", private: false, type: "text", text: "olá" },
  ],
  ["text", { type: "text", text: "x", content_type: null, new_field: [1, { a: null }] }],
  ["image", { type: "image", url: "https://files.example/1.png" }],
  ["audio", { type: "audio", url: "https://files.example/1.mp3" }],
  ["video", { type: "video", url: "https://files.example/1.mp4" }],
  ["file", { type: "file", url: "https://files.example/1.pdf" }],
  ["button_template", { type: "text", content_type: "button_template", content_attributes: { buttons: [] } }],
  ["generic_template", { type: "text", content_type: "generic_template", content_attributes: {} }],
  ["unknown", { type: "sticker", url: "https://files.example/1.webp" }],
  ["unknown", { type: "text", content_type: "list_template", content_attributes: {} }],
  ["unknown", { type: null }],
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

const signed = { body, signed: {} };
const aboutHandshakes = "hub_mode=subscribe&hub_verify_token=k&hub_challenge=c";

export const messageCases: ContractCase[] = [
  ...MESSAGES.flatMap(([kind, message]) => {
    const content = JSON.stringify(message);
    return casesOf(delivered(kind, message), { [`kind ${kind}: ${content}`]: { body: content, signed: {} } });
  }),
  ...ids.flatMap(([digits, conv_id]) =>
    casesOf(delivered("text", { type: "text", conv_id }), {
      [`every digit of conv_id ${digits} is kept`]: {
        ...signed,
        body: `{"type":"text","conv_id":${digits}}`,
      },
    }),
  ),
  caseOf(
    "x-flow-ns and x-action are passed to the handler, in any case of their names",
    delivered("text", text, { flowNs: "f123", action: "messages" }),
    {
      ...signed,
      headers: [
        ["X-Flow-NS", "f123"],
        ["x-action", "messages"],
      ],
    },
  ),
  caseOf("a different x-action is delivered too", delivered("text", text, { action: "typing" }), {
    ...signed,
    headers: [["X-Action", "typing"]],
  }),
  caseOf(
    "a signed message about a handshake is a delivery",
    delivered("text", { type: "text", text: aboutHandshakes }),
    {
      ...signed,
      body: JSON.stringify({ type: "text", text: aboutHandshakes }),
    },
  ),
  caseOf(
    "a handler that cannot accept it now",
    { ...rejected(503, "unavailable"), headers: { "retry-after": "7" } },
    signed,
    { options: { isUnavailable: true } },
  ),
];
