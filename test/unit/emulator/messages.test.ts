import { describe, expect, test } from "vitest";
import type { InboundMessage } from "../../../schema/index.js";
import {
  addressOf,
  apiKey,
  call,
  inbound,
  operations,
  post,
  received,
  sendTo,
  set,
  startScene,
  startSilent,
  text,
  type Reading,
} from "./harness.js";

const image = operations["send image"];
const button = operations["send button payload"];

test.each(Object.entries(operations))("%s is accepted and recorded", async (_operation, message) => {
  const { emulator, acme } = await startSilent();
  const answer = await sendTo(acme, message);
  expect(answer).toMatchObject({ status: 200, text: '{"status":"ok"}' });
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(received(acme)).toEqual([message]);
  const recorded = { interface: "bot", operation: "message", workspace: "acme", response: { status: 200 } };
  expect(emulator.requests.at(-1)).toMatchObject(recorded);
});

test.each<[Reading<"senderFields"> | undefined, number, string]>([
  [undefined, 200, '{"status":"ok"}'],
  ["required", 422, "sender.email: is missing; must be a string; sender.phone_number: is missing"],
])("senderFields %s: a sender without e-mail and phone gets HTTP %i", async (senderFields, status, said) => {
  const { acme } = await startSilent({ senderFields });
  const { id, name, type } = text.sender;
  const answer = await sendTo(acme, { ...text, sender: { id, name, type } });
  expect(answer.status).toBe(status);
  expect(answer.text).toContain(said);
  expect((await sendTo(acme, text)).status).toBe(200);
});

test("a message is accepted after delete-webhook, but its reply is not delivered", async () => {
  const { acme, endpoint } = await startScene();
  await call(acme, "delete-webhook");
  expect(await sendTo(acme, text)).toMatchObject({ status: 200 });
  await expect.poll(() => acme.conversations[0]?.messages).toHaveLength(2);
  expect(received(acme)).toEqual([text]);
  expect(acme.deliveries).toEqual([]);
  expect(endpoint.received).toHaveLength(1);
});

describe("an invalid message", () => {
  test.each<Record<string, string>>([
    {},
    { authorization: "Bearer wrong-key-98765" },
    { authorization: `Bearer ${apiKey}` },
    { "x-api-key": "wrong-key-98765" },
  ])("with the headers %j gets a 401 that contains no key, even if its body is wrong", async (headers) => {
    const { acme } = await startSilent();
    for (const body of [JSON.stringify(text), "no json"]) {
      const answer = await sendTo(acme, text, { headers, body });
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
      expect(answer.text).not.toMatch(new RegExp(`wrong-key|${apiKey}|${acme.flowApiKey}`));
    }
    expect(received(acme)).toEqual([]);
  });

  test('gets 403 if its key lacks the permission "Gerenciar Fluxo"', async () => {
    const { acme } = await startSilent();
    acme.change({ mayManageFlow: false });
    const answer = await sendTo(acme, text);
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("Gerenciar Fluxo")]);
    expect(received(acme)).toEqual([]);
  });

  const secret = "s3cr3t-value";
  const attachments = [{ ...image.attachments[0], file_type: secret }];
  // The schema is tested in test/unit/schema, with many more wrong values.
  test.each<[string, object, string]>([
    ["another event", { ...text, event: secret }, 'event: must be "message_created" or "message_postback"'],
    ["a workspace id", { ...text, workspace_id: secret }, "workspace_id: is not a known field"],
    ["an invalid name", { ...text, [`${secret}=`]: 1 }, "a name here is not a known field"],
    ["no button", { ...button, submitted_values: [] }, "submitted_values: must be a list of exactly one"],
    ["media of an unknown kind", { ...image, attachments }, 'attachments.0.file_type: must be "image"'],
    [
      "a press whose text differs from the button's title",
      { ...button, content: secret },
      "content: must be the title of the button, as in submitted_values.0.title",
    ],
  ])("gets a 422 that names the field but no value: %s", async (_name, body, problem) => {
    const { acme } = await startSilent();
    const answer = await sendTo(acme, body);
    expect(answer.status).toBe(422);
    expect((answer.body as { message: string }).message).toContain(problem);
    expect(answer.text).not.toContain(secret);
    expect(received(acme)).toEqual([]);
  });
});

const from = (id: string, content: string, conversation = 42): InboundMessage => {
  const message = inbound(content, conversation);
  return { ...message, sender: { ...message.sender, id } };
};

describe("conversations", () => {
  test("are identified by workspace, contact and conversation id, and sorted by their first message", async () => {
    const { emulator, acme } = await startSilent();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    const [first, last] = [from("u-1", "a"), from("u-1", "d")];
    for (const message of [first, from("u-2", "b"), from("u-1", "c", 43), last]) await acme.send(message);
    await globex.send(from("u-1", "e"));
    const conversation = acme.conversations[0]?.id;
    const known = { from: "contact", workspace: "acme", conversation };
    const messages = [first, last].map((body) => ({ ...known, body }));
    expect(acme.conversations).toMatchObject([
      { contactId: "u-1", contactName: "Ana", conversationId: "42", messages },
      { contactId: "u-2", conversationId: "42", messages: [{}] },
      { contactId: "u-1", conversationId: "43", messages: [{}] },
    ]);
    expect(globex.conversations).toHaveLength(1);
    expect(new Set([...acme.conversations, ...globex.conversations].map(({ id }) => id)).size).toBe(4);
  });

  test("keep the contact's most recent name that is not empty", async () => {
    const { acme } = await startSilent();
    for (const name of ["Ana", "Ana Maria", ""])
      await sendTo(acme, { ...text, sender: { ...text.sender, name } });
    expect(acme.conversations[0]?.contactName).toBe("Ana Maria");
  });
});

test("send throws an unavailable error if there is no response, and the error contains no key", async () => {
  const { emulator, acme } = await startSilent();
  emulator.injectFault({ operation: "message", fault: "close-before" });
  const failure: unknown = await acme.send(inbound("a")).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "unavailable", operation: "message" });
  expect(String(failure)).not.toContain(acme.flowApiKey);
});

const said = "conversation_id: must be an integer; content: must not be empty";
const errors = { conversation_id: ["must be an integer"], content: ["must not be empty"] };

test.each<[Reading<"errorShape">, string | null, string, RegExp]>([
  [
    "envelope",
    "application/json",
    JSON.stringify({ status: "error", message: said }),
    /^\{"status":"error","mess/,
  ],
  ["errors", "application/json", JSON.stringify({ message: said, errors }), /^\{"message":".*"errors":\{/],
  ["text", "text/plain; charset=utf-8", said, /^\w/],
  ["empty", null, "", /^$/],
])("errorShape %s applies to every error of both interfaces", async (errorShape, type, body, shape) => {
  const { emulator, acme } = await startSilent({ errorShape });
  const wrong = await sendTo(acme, { ...text, content: "", conversation_id: "42" });
  expect([wrong.status, wrong.headers.get("content-type"), wrong.text]).toEqual([422, type, body]);
  emulator.injectFault({ operation: "message", fault: { status: 503 } });
  const tooLarge = "x".repeat(1024 * 1024 + 1);
  const answers = [
    await call(acme, "no-action"),
    await call(acme, "get-webhook", { ChaveApi: "wrong" }),
    await set(acme, "http://127.0.0.1:1/"),
    await post(addressOf(acme, "get-webhook"), "no json"),
    await post(addressOf(acme, "get-webhook"), tooLarge),
    await sendTo(acme, text),
    await sendTo(acme, text, { headers: {} }),
    await sendTo(acme, text, { method: "GET" }),
    await sendTo(acme, text, { body: "content=hello" }),
    await sendTo(acme, text, { body: "[]" }),
    await sendTo(acme, text, { body: tooLarge }),
    await sendTo(acme, text, { url: `${emulator.botUrl}/api/apichat/nobody` }),
  ];
  const statuses = answers.map(({ status }) => status);
  expect(statuses).toEqual([404, 401, 422, 400, 413, 503, 401, 405, 400, 422, 413, 404]);
  expect(answers.filter((answer) => !shape.test(answer.text))).toEqual([]);
  expect(answers[7]?.headers.get("allow")).toBe("POST");
  const unread = { workspace: null, response: { status: 413 }, request: { body: "" } };
  expect(emulator.requests.at(-2)).toMatchObject(unread);
  expect(received(acme)).toEqual([]);
  // errorShape does not apply to successful responses.
  expect((await call(acme, "get-webhook")).body).toMatchObject({ status: "ok" });
  expect((await sendTo(acme, text)).body).toEqual({ status: "ok" });
});

const flowKeys: Reading<"flowKey">[] = ["bearer", "raw", "body", { header: "X-Flow" }, "none"];
test.each(flowKeys)(
  "send passes the key where flowKey %j requires it, and no recorded message contains the key",
  async (flowKey) => {
    const { acme } = await startSilent({ flowKey });
    expect(await acme.send(text as InboundMessage)).toEqual({ status: 200, body: { status: "ok" } });
    expect(received(acme)).toEqual([text]);
    expect((await sendTo(acme, text, { headers: {} })).status).toBe(flowKey === "none" ? 200 : 401);
  },
);

test.each<[Reading<"messageResponse">, number, (id: string) => string]>([
  ["created", 201, (id) => JSON.stringify({ id })],
  ["empty", 204, () => ""],
])("messageResponse %s causes HTTP %i", async (messageResponse, status, bodyOf) => {
  const { acme } = await startSilent({ messageResponse });
  const answer = await sendTo(acme, text);
  const [message] = acme.conversations[0]?.messages ?? [];
  expect(answer).toMatchObject({ status, text: bodyOf(message?.id ?? "") });
});

test("beyond requestsPerSecond, both ports respond 429 with Retry-After until a second has passed", async () => {
  const { emulator, acme } = await startSilent({ requestsPerSecond: 2 });
  const globex = emulator.addWorkspace({ name: "globex", apiKey });
  // Requests without a valid key do not count towards the limit.
  expect((await sendTo(acme, text, { headers: {} })).status).toBe(401);
  expect((await call(acme, "get-webhook")).status).toBe(200);
  expect((await sendTo(acme, text)).status).toBe(200);
  for (const answer of [await call(acme, "delete-webhook"), await sendTo(acme, text)]) {
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "1"]);
  }
  expect(received(acme)).toHaveLength(1);
  expect((await sendTo(globex, text)).status).toBe(200);
  const statusOf = async () => (await sendTo(acme, text)).status;
  await expect.poll(statusOf, { interval: 300 }).toBe(200);
});
