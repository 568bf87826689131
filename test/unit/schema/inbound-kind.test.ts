import { expect, it } from "vitest";
import {
  INBOUND_KINDS,
  MEDIA_KINDS,
  inboundKindOf,
  inboundMessage,
  inboundShapes,
  inboundTextMessage,
} from "../../../schema/index.js";
import { samples } from "../../../tools/schema/samples.ts";

it.each(INBOUND_KINDS)(
  "a message of kind %s is known as such, and has the shape of its kind alone: all media have one",
  (kind) => {
    const name = `Inbound${kind.charAt(0).toUpperCase()}${kind.slice(1)}Message`;
    const message = samples[name as keyof typeof samples];
    expect(inboundMessage.safeParse(message).success).toBe(true);
    expect(inboundKindOf(message)).toBe(kind);
    const kinds = INBOUND_KINDS.filter((each) => inboundShapes[each].safeParse(message).success);
    expect(kinds).toEqual(MEDIA_KINDS.some((each) => each === kind) ? MEDIA_KINDS : [kind]);
  },
);

it.each([
  [{ event: "message_created" }, "text"],
  [{ event: "message_postback", attachments: 1 }, "button"],
  [{ event: "message_created", attachments: [{ file_type: "audio" }] }, "audio"],
  [undefined],
  [null],
  ["message_created"],
  [[]],
  [{}],
  [{ event: "message_updated" }],
  [{ event: "message_created", attachments: null }],
  [{ event: "message_created", attachments: [] }],
  [{ event: "message_created", attachments: [{ file_type: "sticker" }] }],
  [{ event: "message_created", attachments: [{ file_type: "toString" }] }],
])("%j, which lacks the rest or is none, has the kind %s", (message, kind?: string) => {
  expect(inboundKindOf(message)).toBe(kind);
});

it.each<[unknown, string]>([
  ...[2 ** 53, -(2 ** 53), 1e20, 9007199254740993n].map((id): [unknown, string] => [
    id,
    "-9007199254740991 to 9007199254740991",
  ]),
  ...["42", 1.5, null, undefined, Number.NaN, Number.POSITIVE_INFINITY].map((id): [unknown, string] => [
    id,
    "an integer",
  ]),
])("the conversation id %s is not sent, and the error says which can be", (conversation_id, text) => {
  const { error } = inboundTextMessage.safeParse({ ...samples.InboundTextMessage, conversation_id });
  expect(error?.issues).toMatchObject([
    { path: ["conversation_id"], message: expect.stringContaining(text) as string },
  ]);
});
