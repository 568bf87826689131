import { expect, it } from "vitest";
import { contentOf } from "../../../provider/emulator/page/message-content.ts";
import {
  agentBody,
  contactBody,
  type AgentInput,
  type ContactInput,
} from "../../../provider/emulator/page/outgoing-bodies.ts";
import { inboundMessage, parseOutbound } from "../../../schema/index.ts";

const party = { contactId: "u-1", contactName: "Ana", conversationId: "42" };
const url = "https://example.test/a.png";

it.each<[ContactInput, unknown]>([
  [
    { kind: "text", text: "Olá" },
    { kind: "text", text: "Olá" },
  ],
  [
    { kind: "postback", title: "Sim", payload: "yes" },
    { kind: "postback", title: "Sim", payload: "yes" },
  ],
  ...(["image", "audio", "video", "file"] as const).map((kind): [ContactInput, unknown] => [
    { kind, url },
    { kind: "media", media: kind, url },
  ]),
])("writes %j as the specification says, and shows it so", (input, shown) => {
  const body: unknown = JSON.parse(contactBody(party, input));
  expect(inboundMessage.safeParse(body)).toMatchObject({ success: true });
  expect(body).toMatchObject({ conversation_id: 42, sender: { id: "u-1", name: "Ana", email: "" } });
  expect(contentOf(body)).toEqual(shown);
});

const buttons = [{ title: "Sim", payload: "yes" }];
const card = { title: "Um", subtitle: "dois", imageUrl: url, itemUrl: "", buttons };

it.each<[AgentInput, string, unknown]>([
  [{ kind: "text", text: "Olá" }, "text", { kind: "text", text: "Olá" }],
  [
    { kind: "button_template", text: "?", buttons },
    "button_template",
    { kind: "buttons", text: "?", buttons },
  ],
  [
    { kind: "generic_template", text: "", cards: [card] },
    "generic_template",
    { kind: "cards", text: "", cards: [{ ...card, itemUrl: null }] },
  ],
  ...(["image", "audio", "video", "file"] as const).map((kind): [AgentInput, string, unknown] => [
    { kind, url },
    kind,
    { kind: "media", media: kind, url },
  ]),
])("answers %j as the specification says, and shows it so", (input, kind, shown) => {
  const text = agentBody(party, input);
  expect(parseOutbound(text)).toMatchObject({ kind, message: { conv_id: 42, sender_id: "u-1" } });
  expect(contentOf(JSON.parse(text))).toEqual(shown);
});

it("keeps every digit of a conversation id", () => {
  const far = { ...party, conversationId: "90071992547409931" };
  expect(agentBody(far, { kind: "text", text: "x" })).toContain('"conv_id":90071992547409931,');
  expect(contactBody(far, { kind: "text", text: "x" })).toContain('"conversation_id":90071992547409931,');
});

it.each(["", "1.5", "007", '1,"x":2', "1e3", "--1"])("refuses %j as a conversation id", (conversationId) => {
  expect(() => agentBody({ ...party, conversationId }, { kind: "text", text: "x" })).toThrow(TypeError);
});

it.each([
  null,
  undefined,
  7,
  "text",
  [],
  {},
  { message_type: "outgoing", type: "sticker" },
  { message_type: "outgoing", type: "text", content_type: "list" },
  { message_type: "incoming", event: "message_created", content: 7 },
])("shows %j as its JSON", (body) => {
  expect(contentOf(body).kind).toBe("unknown");
});

it("shows what is there of a broken template", () => {
  const template = { type: "text", content_type: "generic_template" };
  expect(
    contentOf({ ...template, content_attributes: { items: [null, { title: 1, buttons: {} }] } }),
  ).toMatchObject({
    kind: "cards",
    cards: [
      { title: "", buttons: [] },
      { title: "", buttons: [] },
    ],
  });
  expect(contentOf({ ...template, content_attributes: "x" })).toMatchObject({ cards: [] });
  expect(contentOf({ message_type: "incoming", event: "message_postback" })).toEqual({
    kind: "postback",
    title: "",
    payload: "",
  });
});
