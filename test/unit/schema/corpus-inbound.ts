import { samples } from "../../../tools/schema/samples.ts";
import {
  entryOf,
  extra,
  literal,
  missing,
  nonEmptyString,
  notStrings,
  requestUrl,
  requiredString,
  urlsInRequests,
  type CorpusEntry,
  type ValuesByPath,
} from "./corpus-values.js";

const { sender } = samples.InboundTextMessage;
const [attachment] = samples.InboundImageMessage.attachments;
const acceptedInMessage: ValuesByPath = {
  conversation_id: [0, -7, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
  "sender.name": [""],
  "sender.email": [missing],
  "sender.phone_number": [missing],
};
const rejectedInMessage: ValuesByPath = {
  message_type: literal("incoming"),
  conversation_id: [missing, "42", null, 1.5, true, [42], 9007199254740993n, -9007199254740993n],
  sender: [missing, null, "u-1", [], [sender]],
  "sender.id": nonEmptyString,
  "sender.name": requiredString,
  "sender.email": [...notStrings, "ana@chat.example"],
  "sender.phone_number": [...notStrings, "+5511999999999"],
  "sender.type": literal("contact"),
  "sender.extra": [1],
  ...extra,
};

/** The six messages to the service (sections 2.3 and 4.2). */
export const inboundCorpus: readonly CorpusEntry[] = [
  entryOf("InboundTextMessage", "inbound", {
    accepted: { ...acceptedInMessage, content: [" ", "👋"] },
    rejected: {
      ...rejectedInMessage,
      event: [...literal("message_created"), "message_postback"],
      content: nonEmptyString,
      attachments: [[], [{ file_type: "image", data_url: "https://cdn.example/a" }]],
      submitted_values: [[], [{ title: "Yes", payload: "YES" }]],
    },
  }),
  entryOf("InboundButtonMessage", "inbound", {
    accepted: { ...acceptedInMessage, content: [""], "submitted_values.0.payload": [""] },
    rejected: {
      ...rejectedInMessage,
      event: [...literal("message_postback"), "message_created"],
      content: requiredString,
      submitted_values: [
        missing,
        null,
        {},
        "x",
        [],
        [
          { title: "a", payload: "a" },
          { title: "b", payload: "b" },
        ],
      ],
      "submitted_values.0": [null, "x", []],
      "submitted_values.0.title": requiredString,
      "submitted_values.0.payload": requiredString,
      "submitted_values.0.extra": [1],
      attachments: [[]],
    },
  }),
  entryOf(
    "InboundImageMessage",
    "inbound",
    {
      accepted: {
        ...acceptedInMessage,
        "attachments.0.file_type": ["audio", "video", "file"],
        "attachments.0.data_url": urlsInRequests,
      },
      rejected: {
        ...rejectedInMessage,
        event: literal("message_created"),
        content: [...requiredString, "a text"],
        attachments: [missing, null, {}, "x", [], [attachment, attachment]],
        "attachments.0": [null, "x", []],
        "attachments.0.file_type": [...literal("image"), "text"],
        "attachments.0.data_url": requestUrl,
        "attachments.0.extra": [1],
        submitted_values: [[{ title: "Yes", payload: "YES" }]],
      },
    },
    "InboundMediaMessage",
  ),
];
