import { expect, test } from "vitest";
import type { MessageClient } from "../../../provider/client/index.js";
import samples from "../../../schema/samples.json" with { type: "json" };
import { startServer, type TestServer } from "../../support/http.js";
import { createTestMessageClient, failureOf, FLOW_KEY, textOf, TO } from "./harness.js";

const startTaking = (status = 200, body = ""): Promise<TestServer> =>
  startServer((_, response) => response.writeHead(status).end(body));

/** The sender and the conversation of the messages in samples.json. */
const FROM_ANA = { sender: { id: "u-1", name: "Ana" }, conversationId: 42 };
const MEDIA = { ...FROM_ANA, url: "https://cdn.example/a" };

type Send = (client: MessageClient) => Promise<unknown>;

test.each<[string, Send, object]>([
  [
    "a text, without its additional properties,",
    (client) => {
      const sender = { ...FROM_ANA.sender, workspace: "w1" };
      const wider = { ...FROM_ANA, sender, text: 'Olá, "tudo bem"?\n😀', apiKey: "another" };
      return client.sendText(wider);
    },
    { ...samples.InboundTextMessage, content: 'Olá, "tudo bem"?\n😀' },
  ],
  [
    "a button",
    (client) => client.sendButton({ ...FROM_ANA, title: "Yes", payload: "YES" }),
    samples.InboundButtonMessage,
  ],
  ["an image", (client) => client.sendImage(MEDIA), samples.InboundImageMessage],
  ["an audio", (client) => client.sendAudio(MEDIA), samples.InboundAudioMessage],
  ["a video", (client) => client.sendVideo(MEDIA), samples.InboundVideoMessage],
  ["a file", (client) => client.sendFile(MEDIA), samples.InboundFileMessage],
  [
    "a message in wire format, without e-mail and phone number,",
    (client) => client.send(textOf(9, "as it is")),
    textOf(9, "as it is"),
  ],
])("%s is posted as JSON, with the body of section 4.2 and the key as a bearer token", async (...row) => {
  const [, send, expected] = row;
  const { url, requests } = await startTaking();
  await send(createTestMessageClient(url, { botUrl: `${url}/api/apichat/f1?tenant=a%20b` }));
  const type = "application/json";
  const headers = { authorization: `Bearer ${FLOW_KEY}`, "content-type": type, accept: type };
  expect(requests).toMatchObject([{ method: "POST", path: "/api/apichat/f1?tenant=a%20b", headers }]);
  expect(JSON.parse(requests[0]?.body ?? "")).toStrictEqual(expected);
});

test.each<[string, number, string, unknown]>([
  ["JSON", 200, '{"status":"ok","id":1}', { status: "ok", id: 1 }],
  ['JSON whose status is not "ok"', 200, '{"status":"queued"}', { status: "queued" }],
  ['JSON with "error" in a field other than status', 200, '{"id":"error"}', { id: "error" }],
  ["a JSON string", 200, '"error"', "error"],
  ["text", 202, "error", "error"],
  ["undefined for an empty 204", 204, "", undefined],
  ["undefined for an empty 200", 200, "", undefined],
  ["undefined for a response body above the limit", 200, "x".repeat(2 * 1024 * 1024), undefined],
])("the body in a receipt is %s", async (_, status, answer, body) => {
  const { url, requests } = await startTaking(status, answer);
  const receipt = await createTestMessageClient(url).sendText({ ...TO, text: "hi" });
  expect(receipt).toStrictEqual({ httpStatus: status, body, attempts: 1 });
  expect(requests).toHaveLength(1);
});

const wire =
  (changes: object): Send =>
  (client) =>
    client.send({ ...textOf(7, "private"), ...changes });
const text =
  (changes: object): Send =>
  (client) =>
    client.sendText({ ...TO, text: "private", ...changes });

/** Wrong inputs. For each expected problem: the field, as the caller spells it, and words of the text. */
const WRONG: [string, Send, [field: string, text?: string][]][] = [
  ["an empty text", text({ text: "" }), [["text"]]],
  ["no sender", text({ sender: undefined }), [["sender.id"], ["sender.name"]]],
  [
    "an unsafe conversation id",
    text({ conversationId: 2 ** 53 }),
    [["conversationId", "beyond the safe integers"]],
  ],
  [
    "a button without title",
    (client) => client.sendButton({ ...TO, payload: "private" } as never),
    [["title", "is missing; must be a string"]],
  ],
  [
    "a button without payload",
    (client) => client.sendButton({ ...TO, title: "private" } as never),
    [["payload"]],
  ],
  [
    "an unknown kind",
    (client) => client.send({ kind: "private", ...TO } as never),
    [["kind", "one of text,"]],
  ],
  ["no kind", (client) => client.send({ ...TO, text: "private" } as never), [["kind", "in wire format"]]],
  ["a relative URL", (client) => client.sendImage({ ...TO, url: "/private.png" }), [["url"]]],
  ["an unknown field", wire({ workspace: "private" }), [["workspace", "is not a known field"]]],
  [
    "an unknown kind of media",
    wire({ content: "", attachments: [{ file_type: "private", data_url: "https://a.example/" }] }),
    [["attachments[0].file_type"]],
  ],
  ["nothing", (client) => client.send(null as never), [["", "is empty (null); must be an object"]]],
];

test.each(WRONG)(
  "a message with %s is not sent: invalid_config names the field but not its value",
  async (_, send, problems) => {
    const { url, requests } = await startTaking();
    const error = await failureOf(send(createTestMessageClient(url)));
    expect(error).toMatchObject({ code: "invalid_config", operation: "message", attempts: 0 });
    expect(error.problems).toEqual(
      problems.map(([field, words = ""]) => ({ field, text: expect.stringContaining(words) as string })),
    );
    expect(error.message).not.toContain("private");
    expect(requests).toEqual([]);
  },
);
