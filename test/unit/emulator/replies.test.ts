import { describe, expect, test } from "vitest";
import type { ReplyContent } from "../../../provider/emulator/flows/flow.js";
import { parseOutbound, type OutboundMessage } from "../../../schema/index.js";
import { samples } from "../../../tools/schema/samples.ts";
import { set, startAcme, startEndpoint } from "./harness.js";
import { sendTo, text } from "./messages-harness.js";

/** One of each kind of section 2.4, and how its content names it. */
const kinds = [
  ["text", samples.OutboundText],
  ["image", samples.OutboundImage],
  ["audio", samples.OutboundAudio],
  ["video", samples.OutboundVideo],
  ["file", samples.OutboundFile],
  ["button_template", samples.OutboundButtonTemplate],
  ["generic_template", samples.OutboundGenericTemplate],
] as const;

describe("a reply of section 2.4", () => {
  test.each(kinds)(
    "of kind %s arrives with exactly its fields, and is read as that kind",
    async (kind, message) => {
      const { acme } = await startAcme();
      const { url, received } = await startEndpoint();
      await set(acme, url);
      const delivery = await acme.deliver(message as OutboundMessage);
      expect(delivery.reason).toMatch(/^$/);
      const body = received.at(-1)?.body ?? "";
      expect(JSON.parse(body)).toEqual(message);
      expect(parseOutbound(body).kind).toBe(kind);
    },
  );

  test.each(kinds)(
    "of kind %s is addressed to the contact and the conversation of the message",
    async (_kind, message) => {
      const {
        sender_id: _sender,
        conv_id: _conversation,
        message_type: _type,
        private: _private,
        ...content
      } = message;
      const { acme } = await startAcme({ flow: () => [content as ReplyContent] });
      const { url, received } = await startEndpoint();
      await set(acme, url);
      const sender = { ...text.sender, id: "contact-7" };
      expect((await sendTo(acme, { ...text, sender, conversation_id: 4711 })).status).toBe(200);
      await expect.poll(() => received).toHaveLength(2);
      const addressed = { sender_id: "contact-7", conv_id: 4711, message_type: "outgoing", private: false };
      expect(JSON.parse(received.at(-1)?.body ?? "")).toEqual({ ...content, ...addressed });
      expect(received.at(-1)?.headers["x-action"]).toBe("messages");
    },
  );
});
