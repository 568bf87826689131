import { expect, it } from "vitest";
import { INBOUND_KINDS, inboundKindOf, inboundMessage, inboundShapes } from "../../../schema/index.js";

const common = {
  message_type: "incoming",
  sender: { id: "u-1", name: "Ana", type: "contact" },
  conversation_id: 1,
};
const attached = (fileType: unknown): object => ({
  ...common,
  event: "message_created",
  content: "",
  attachments: [{ file_type: fileType, data_url: "https://media.example/a" }],
});
const messages = {
  text: { ...common, event: "message_created", content: "hi" },
  button: {
    ...common,
    event: "message_postback",
    content: "Yes",
    submitted_values: [{ title: "Yes", payload: "yes" }],
  },
  image: attached("image"),
  audio: attached("audio"),
  video: attached("video"),
  file: attached("file"),
};

it.each(INBOUND_KINDS)("a message of kind %s is told as such, and has the shape of no other kind", (kind) => {
  const message = messages[kind];
  expect(inboundMessage.safeParse(message).success).toBe(true);
  expect(inboundKindOf(message)).toBe(kind);
  const fitting = INBOUND_KINDS.filter((each) => inboundShapes[each].safeParse(message).success);
  expect(fitting).toEqual([kind]);
});

it.each([
  [{ event: "message_created" }, "text"],
  [{ event: "message_postback", attachments: 1 }, "button"],
  [{ event: "message_created", attachments: [{ file_type: "audio" }] }, "audio"],
])("of %j, which lacks the rest, it is told too", (message, kind) => {
  expect(inboundKindOf(message)).toBe(kind);
});

it.each([
  undefined,
  null,
  "message_created",
  [],
  {},
  { event: "message_updated" },
  { event: "message_created", attachments: null },
  { event: "message_created", attachments: [] },
  { event: "message_created", attachments: [{ file_type: "sticker" }] },
  { event: "message_created", attachments: [{ file_type: "toString" }] },
])("%j means none", (message) => {
  expect(inboundKindOf(message)).toBeUndefined();
});
