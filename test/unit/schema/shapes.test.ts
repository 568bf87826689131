import { describe, expect, it } from "vitest";
import { ZodError } from "zod";
import {
  INBOUND_KINDS,
  MEDIA_KINDS,
  inboundKindOf,
  inboundMessage,
  inboundShapes,
  readRegistration,
  registrationEnvelope,
} from "../../../schema/index.js";
import samples from "../../../schema/samples.json" with { type: "json" };

const configuration = {
  webhook_url: "https://chat.example/hook",
  webhook_verification_key: "****",
  webhook_status: "verified",
  bot_url: "https://bots.example/api/apichat/abc",
};
const removed = { webhook_url: "", webhook_verification_key: "", webhook_status: "", bot_url: "" };

describe("readRegistration", () => {
  it.each([
    ["missing", undefined],
    ["null", null],
    ["an empty list", []],
    ["an empty object", {}],
    ["four empty strings", removed],
    ["nulls", { webhook_url: null, webhook_status: null }],
    ["no webhook_url, but a bot_url", { bot_url: configuration.bot_url }],
    ["an empty webhook_url beside non-empty fields", { ...configuration, webhook_url: "" }],
    ["a null webhook_url beside non-empty fields", { ...configuration, webhook_url: null }],
  ])("treats %s as nothing registered, alone and in an envelope", (_reading, data) => {
    expect(readRegistration(data)).toBeUndefined();
    const envelope = registrationEnvelope.parse({ status: "ok", data });
    expect(readRegistration(envelope.data)).toBeUndefined();
  });

  it.each([null, undefined])("reads a field that is %s as empty if there is a webhook_url", (nothing) => {
    const data = { webhook_url: "u", webhook_verification_key: nothing, webhook_status: nothing };
    expect(readRegistration(data)).toEqual({ ...removed, webhook_url: "u" });
  });

  it.each(["text", [configuration], { webhook_url: "", bot_url: 5 }])("throws a ZodError on %j", (data) => {
    expect(() => readRegistration(data)).toThrow(ZodError);
  });

  it("throws an error that does not contain the verification key", () => {
    const data = { ...configuration, webhook_verification_key: { nested: "my-secret" } };
    expect(() => readRegistration(data)).toThrow(expect.not.stringContaining("my-secret"));
  });
});

it.each(INBOUND_KINDS)("recognizes a message of kind %s by its shape (media share a shape)", (kind) => {
  const name = `Inbound${kind.charAt(0).toUpperCase()}${kind.slice(1)}Message`;
  const message = samples[name as keyof typeof samples];
  expect(inboundMessage.safeParse(message).success).toBe(true);
  expect(inboundKindOf(message)).toBe(kind);
  const kinds = INBOUND_KINDS.filter((each) => inboundShapes[each].safeParse(message).success);
  expect(kinds).toEqual(MEDIA_KINDS.some((each) => each === kind) ? MEDIA_KINDS : [kind]);
});

it.each([
  [{ event: "message_created" }, "text"],
  [{ event: "message_postback", attachments: 1 }, "button"],
  [{ event: "message_created", attachments: [{ file_type: "audio" }] }, "audio"],
  [undefined],
  [null],
  [{ event: "message_updated" }],
  [{ event: "message_created", attachments: null }],
  [{ event: "message_created", attachments: [] }],
  [{ event: "message_created", attachments: [{ file_type: "sticker" }] }],
])("treats the incomplete message %j as %s", (message, kind?: string) => {
  expect(inboundKindOf(message)).toBe(kind);
});
