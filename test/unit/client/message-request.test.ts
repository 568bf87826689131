import { describe, expect, test } from "vitest";
import type { MessageClient } from "../../../provider/client/index.js";
import { inboundMessage, type InboundMessage } from "../../../schema/inbound.js";
import { createAgent, failureOf, startServer, type TestServer } from "./harness.js";
import { createTestMessageClient, FLOW_KEY, textOf, TO } from "./message-harness.js";

const startTaking = (status = 200, body = ""): Promise<TestServer> =>
  startServer((_, response) => response.writeHead(status).end(body));

const SENDER = { id: "contact-42", name: "Ana Beatriz", email: "", phone_number: "", type: "contact" };
const COMMON = { message_type: "incoming", sender: SENDER, conversation_id: 7 };
const MEDIA = { ...TO, url: "https://media.example/a.bin?v=1" };

const attachment = (fileType: string): object => ({
  ...COMMON,
  event: "message_created",
  content: "",
  attachments: [{ file_type: fileType, data_url: MEDIA.url }],
});

type Send = (client: MessageClient) => Promise<unknown>;

const OPERATIONS: [string, Send, object][] = [
  [
    "a text",
    (client) => client.sendText({ ...TO, text: 'Olá, "tudo bem"?\n😀' }),
    { ...COMMON, event: "message_created", content: 'Olá, "tudo bem"?\n😀' },
  ],
  [
    "a button",
    (client) => client.sendButton({ ...TO, title: "Yes", payload: "answer:yes" }),
    {
      ...COMMON,
      event: "message_postback",
      content: "Yes",
      submitted_values: [{ title: "Yes", payload: "answer:yes" }],
    },
  ],
  ["an image", (client) => client.sendImage(MEDIA), attachment("image")],
  ["an audio", (client) => client.sendAudio(MEDIA), attachment("audio")],
  ["a video", (client) => client.sendVideo(MEDIA), attachment("video")],
  ["a file", (client) => client.sendFile(MEDIA), attachment("file")],
];

describe("a message", () => {
  test.each(OPERATIONS)("that is %s has exactly its body of section 4.2", async (_, send, expected) => {
    const { origin, received } = await startTaking();
    await send(createTestMessageClient(origin));
    expect(received).toHaveLength(1);
    const body: unknown = JSON.parse(received[0]?.body ?? "");
    expect(body).toStrictEqual(expected);
    expect(inboundMessage.safeParse(body).success).toBe(true);
  });

  test("is posted to the bot's address as JSON, with the flow API key as a bearer token", async () => {
    const { origin, received } = await startTaking();
    await createTestMessageClient(origin, { botUrl: `${origin}/api/apichat/f1?tenant=a%20b` }).sendText({
      ...TO,
      text: "hi",
    });
    expect(received[0]).toMatchObject({
      method: "POST",
      path: "/api/apichat/f1?tenant=a%20b",
      headers: {
        authorization: `Bearer ${FLOW_KEY}`,
        "content-type": "application/json",
        accept: "application/json",
      },
    });
  });

  test("in its shape on the wire is sent as it is, also without e-mail and phone number", async () => {
    const { origin, received } = await startTaking();
    const message = textOf(9, "as it is");
    await createTestMessageClient(origin).send(message);
    expect(JSON.parse(received[0]?.body ?? "")).toStrictEqual(message);
  });

  test("does not hold what else its caller's options hold", async () => {
    const { origin, received } = await startTaking();
    const sender = { ...TO.sender, workspace: "w1" };
    const wider = { ...TO, sender, text: "hi", apiKey: "another" };
    await createTestMessageClient(origin).sendText(wider);
    expect(JSON.parse(received[0]?.body ?? "")).toStrictEqual({
      ...COMMON,
      event: "message_created",
      content: "hi",
    });
  });

  test("uses the dispatcher that was given, and the connections of earlier messages", async () => {
    const ports = new Set<number | undefined>();
    const { origin } = await startServer((_, response) => {
      ports.add(response.socket?.remotePort);
      response.end();
    });
    const client = createTestMessageClient(origin, { dispatcher: createAgent({ connections: 1 }) });
    for (let call = 0; call < 5; call += 1) await client.sendText({ ...TO, text: "hi" });
    expect(ports.size).toBe(1);
  });
});

describe("a receipt", () => {
  test.each<[string, number, string, unknown]>([
    ["JSON", 200, '{"status":"ok","id":1}', { status: "ok", id: 1 }],
    ["a JSON refusal in the body, which nothing specifies", 200, '{"status":"error"}', { status: "error" }],
    ["text", 202, "accepted", "accepted"],
    ["HTML", 201, "<p>ok</p>", "<p>ok</p>"],
    ["nothing", 204, "", undefined],
    ["nothing with 200", 200, "", undefined],
  ])("holds %s as it came", async (_, status, answer, body) => {
    const { origin } = await startTaking(status, answer);
    const receipt = await createTestMessageClient(origin).sendText({ ...TO, text: "hi" });
    expect(receipt).toStrictEqual({ httpStatus: status, body, attempts: 1 });
  });

  test("has no body if that exceeds its limit: the status says that the message was taken", async () => {
    const { origin, received } = await startTaking(200, "x".repeat(2 * 1024 * 1024));
    const receipt = await createTestMessageClient(origin, { retry: "any" }).sendText({ ...TO, text: "hi" });
    expect(receipt).toStrictEqual({ httpStatus: 200, body: undefined, attempts: 1 });
    expect(received).toHaveLength(1);
  });
});

const wire = (changes: object): InboundMessage => ({ ...textOf(7, "private"), ...changes });

const FLAWED: [string, Send, string][] = [
  ["an empty text", (client) => client.sendText({ ...TO, text: "" }), "text: "],
  ["no text", (client) => client.sendText({ ...TO } as never), "text: "],
  ["no sender", (client) => client.sendText({ conversationId: 7, text: "private" } as never), "sender.id: "],
  [
    "a sender without id",
    (client) => client.sendText({ ...TO, sender: { id: "", name: "private" }, text: "private" }),
    "sender.id: ",
  ],
  [
    "an e-mail address",
    (client) =>
      client.sendText({ ...TO, sender: { ...TO.sender, email: "private@a.example" } as never, text: "hi" }),
    "sender.email: ",
  ],
  [
    "half a conversation",
    (client) => client.sendText({ ...TO, conversationId: 1.5, text: "private" }),
    "conversationId: must be an integer",
  ],
  [
    "a conversation beyond the safe integers",
    (client) => client.sendText({ ...TO, conversationId: 2 ** 53, text: "private" }),
    "conversationId: beyond the safe integers",
  ],
  [
    "a button without title",
    (client) => client.sendButton({ ...TO, payload: "private" } as never),
    "message: title: is missing; must be a text",
  ],
  [
    "a button without payload",
    (client) => client.sendButton({ ...TO, title: "private" } as never),
    "payload: ",
  ],
  ["a relative URL", (client) => client.sendImage({ ...TO, url: "/private.png" }), "url: "],
  ["another protocol", (client) => client.sendFile({ ...TO, url: "file:///private" }), "url: "],
  ["a wire message without content", (client) => client.send(wire({ content: undefined })), "content: "],
  ["an unknown event", (client) => client.send(wire({ event: "private" })), "event: "],
  [
    "an unknown field",
    (client) => client.send(wire({ workspace: "private" })),
    "workspace: is not a known field",
  ],
  [
    "an unknown kind of media",
    (client) =>
      client.send(wire({ attachments: [{ file_type: "private", data_url: "https://a.example/" }] })),
    "attachments: ",
  ],
  ["attachments that are none", (client) => client.send(wire({ attachments: null })), "attachments: "],
  ["null", (client) => client.send(null as never), "message: must be an object, got null"],
];

describe("a message with", () => {
  test.each(FLAWED)(
    "%s is not sent: invalid_config, naming the field and not its value",
    async (_, send, text) => {
      const { origin, received } = await startTaking();
      const error = await failureOf(send(createTestMessageClient(origin)));
      expect(error).toMatchObject({ code: "invalid_config", operation: "message", attempts: 0 });
      expect(error.message).toContain(text);
      expect(error.message).not.toContain("private");
      expect(received).toEqual([]);
    },
  );
});

describe("a client with", () => {
  test.each([
    ["botUrl", { botUrl: "bots.example?token=query-value" }],
    ["botUrl", { botUrl: "" }],
    ["flowApiKey", { flowApiKey: "" }],
    ["flowApiKey", { flowApiKey: "query-value\n" }],
    ["flowApiKey", { flowApiKey: "query value" }],
    ["requestSeconds", { requestSeconds: 0 }],
    ["requestSeconds", { requestSeconds: 2_147_484 }],
    ["retry", { retry: "all" as never }],
  ])("a wrong %s is refused: invalid_config, naming it", async (name, options) => {
    const error = await failureOf((async () => createTestMessageClient("http://127.0.0.1:9", options))());
    expect(error).toMatchObject({ code: "invalid_config", operation: "check", attempts: 0 });
    expect(error.message).toContain(`${name}: `);
    expect(error.message).not.toMatch(/query.value/);
  });
});
