import { caseOf, casesOf, delivered, rejected, type ContractCase } from "../contract-case.ts";

/** test/unit/schema/parse-outbound.test.ts tests every kind. */
const MESSAGES = [
  [
    "text",
    { sender_id: "7", conv_id: 12, message_type: "outgoing", private: false, type: "text", text: "olá" },
  ],
  ["text", { type: "text", text: "x", content_type: null, new_field: [1, { a: null }] }],
  ["unknown", { type: "sticker", url: "https://files.example/1.webp" }],
  ["unknown", null],
] as const;

const text = { type: "text", text: "x" };
const body = JSON.stringify(text);

const signed = { body, signed: {} };

export const messageCases: ContractCase[] = [
  ...MESSAGES.flatMap(([kind, message]) => {
    const content = JSON.stringify(message);
    return casesOf(delivered(kind, message), { [`kind ${kind}: ${content}`]: { body: content, signed: {} } });
  }),
  caseOf(
    "every digit of a long conv_id is kept",
    delivered("text", { type: "text", conv_id: 9007199254740993n }),
    { ...signed, body: '{"type":"text","conv_id":9007199254740993}' },
  ),
  caseOf(
    "x-flow-ns and x-action are passed to the handler, whatever the case of their names",
    delivered("text", text, { flowNs: "f123", action: "messages" }),
    {
      ...signed,
      headers: [
        ["X-Flow-NS", "f123"],
        ["x-action", "messages"],
      ],
    },
  ),
  caseOf("a different x-action is handled too", delivered("text", text, { action: "typing" }), {
    ...signed,
    headers: [["X-Action", "typing"]],
  }),
  caseOf(
    "a delivery gets 503 if the handler cannot accept it now",
    { ...rejected(503, "unavailable"), headers: { "retry-after": "7" } },
    signed,
    { options: { isUnavailable: true } },
  ),
];
