import { expect, it } from "vitest";
import { inboundTextMessage } from "../../../schema/index.js";

const message = {
  message_type: "incoming",
  sender: { id: "u-1", name: "Ana", email: "", phone_number: "", type: "contact" },
  event: "message_created",
  content: "hello",
};

it.each([2 ** 53, -(2 ** 53), 1e20, 9007199254740993n])(
  "refuses to send the id %s, and says which ids can be sent",
  (conversationId) => {
    const result = inboundTextMessage.safeParse({ ...message, conversation_id: conversationId });
    expect(result.error?.issues).toMatchObject([
      {
        path: ["conversation_id"],
        message: expect.stringContaining("-9007199254740991 to 9007199254740991"),
      },
    ]);
  },
);

it.each(["42", 1.5, null, undefined, Number.NaN, Number.POSITIVE_INFINITY])(
  "refuses to send %s, which is no integer",
  (conversationId) => {
    const result = inboundTextMessage.safeParse({ ...message, conversation_id: conversationId });
    expect(result.error?.issues).toMatchObject([
      { path: ["conversation_id"], message: "expected an integer" },
    ]);
  },
);
