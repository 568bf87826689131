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

const media = (["image", "audio", "video", "file"] as const).map((kind) => ({ kind, url }));
const mediaShown = ({ kind }: { kind: string }) => ({ kind: "media", media: kind, url });

it.each<[ContactInput, unknown]>([
  [
    { kind: "text", text: "Olá" },
    { kind: "text", text: "Olá" },
  ],
  [
    { kind: "postback", title: "Sim", payload: "yes" },
    { kind: "postback", title: "Sim", payload: "yes" },
  ],
  ...media.map((input): [ContactInput, unknown] => [input, mediaShown(input)]),
])("writes %j as the specification requires, and shows it", (input, shown) => {
  const body: unknown = JSON.parse(contactBody(party, input));
  expect(inboundMessage.safeParse(body)).toMatchObject({ success: true });
  expect(body).toMatchObject({ conversation_id: 42, sender: { id: "u-1", name: "Ana", email: "" } });
  expect(contentOf(body)).toEqual(shown);
});

const buttons = [{ title: "Sim", payload: "yes" }];
const card = { title: "Um", subtitle: "dois", imageUrl: url, itemUrl: "", buttons };

it.each<[AgentInput, unknown]>([
  [
    { kind: "text", text: "Olá" },
    { kind: "text", text: "Olá" },
  ],
  [
    { kind: "button_template", text: "?", buttons },
    { kind: "buttons", text: "?", buttons },
  ],
  [
    { kind: "generic_template", text: "", cards: [card] },
    { kind: "cards", text: "", cards: [{ ...card, itemUrl: null }] },
  ],
  ...media.map((input): [AgentInput, unknown] => [input, mediaShown(input)]),
])("replies %j as the specification requires, and shows it", (input, shown) => {
  const text = agentBody(party, input);
  expect(parseOutbound(text)).toMatchObject({ kind: input.kind, message: { conv_id: 42, sender_id: "u-1" } });
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
