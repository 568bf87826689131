import { describe, expect, test, vi } from "vitest";
import type { Fault } from "../../../provider/emulator/index.js";
import type { Flow } from "../../../provider/emulator/flows/flow.js";
import { apiKey, call } from "./harness.js";
import { image, operations, received, sendTo, startSilent, text, type Sent } from "./messages-harness.js";

describe("a message that is right", () => {
  test.each(Object.entries(operations))("%s is taken and kept", async (_operation, message) => {
    const { emulator, acme } = await startSilent();
    const answer = await sendTo(acme, message);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.json()).toEqual({ status: "ok" });
    expect(received(acme)).toEqual([message]);
    const [conversation] = acme.conversations;
    expect(emulator.requests.at(-1)).toMatchObject({
      interface: "bot",
      workspace: "acme",
      conversation: conversation?.id,
      status: 200,
    });
  });

  test.each(["email", "phone_number"])("may lack sender.%s", async (field) => {
    const { acme } = await startSilent();
    const { [field]: _left, ...sender } = text.sender as Record<string, unknown>;
    expect((await sendTo(acme, { ...text, sender })).status).toBe(200);
  });

  test("is handed to the flow once", async () => {
    const flow = vi.fn<Flow>(() => []);
    const { acme } = await startSilent({ flow });
    await sendTo(acme, text);
    await expect.poll(() => acme.conversations[0]?.messages[0]?.unanswered).toBe(false);
    expect(flow).toHaveBeenCalledTimes(1);
    expect(flow).toHaveBeenCalledWith(expect.objectContaining({ workspace: "acme", message: text }));
  });

  test("is answered at once, and stays unanswered by the flow until that has replied", async () => {
    const { promise: thinking, resolve: reply } = Promise.withResolvers<[]>();
    const { acme } = await startSilent({ flow: () => thinking });
    expect((await sendTo(acme, text)).status).toBe(200);
    const [message] = acme.conversations[0]?.messages ?? [];
    expect(message?.unanswered).toBe(true);
    reply([]);
    await expect.poll(() => message?.unanswered).toBe(false);
  });

  test("is taken for the workspace whose bot it is, whatever is registered", async () => {
    const { emulator, acme } = await startSilent();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    await sendTo(globex, text);
    expect([received(acme), received(globex)]).toEqual([[], [text]]);
  });
});

const messageOf = (answer: { json: () => unknown }): string => (answer.json() as { message: string }).message;

describe("a message that is refused", () => {
  test.each(["/api/apichat/nobody", "/api/apichat/", "/api/apichat", "/", "/acme/apichat"])(
    "at %s gets 404",
    async (path) => {
      const { emulator, acme } = await startSilent();
      const url = emulator.botUrl + path;
      expect((await sendTo(acme, text, { url })).status).toBe(404);
    },
  );

  test.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])(
    "as %s gets 405 with allow",
    async (method) => {
      const { acme } = await startSilent();
      const answer = await sendTo(acme, text, { method });
      expect(answer.status).toBe(405);
      expect(answer.headers.get("allow")).toBe("POST");
      expect(received(acme)).toEqual([]);
    },
  );

  test.each<[string, Sent["headers"]]>([
    ["no header", {}],
    ["another key", { authorization: "Bearer wrong-key-98765" }],
    ["another scheme", { authorization: "Basic wrong-key-98765" }],
    ["an empty key", { authorization: "Bearer " }],
    ["another header", { "x-api-key": "wrong-key-98765" }],
  ])("with %s gets 401, also if the body is wrong, and no key is echoed", async (_name, headers = {}) => {
    const { acme } = await startSilent();
    for (const body of [JSON.stringify(text), "no json"]) {
      const answer = await sendTo(acme, text, { headers, body });
      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      expect(messageOf(answer)).toContain("flow API key");
      expect(answer.text).not.toMatch(new RegExp(`wrong-key|${acme.flowApiKey}`));
    }
    expect(received(acme)).toEqual([]);
  });

  test("with the API key of the registration gets 401", async () => {
    const { acme } = await startSilent();
    expect((await sendTo(acme, text, { headers: { authorization: `Bearer ${apiKey}` } })).status).toBe(401);
  });

  test('with a key that lacks "Gerenciar Fluxo" gets 403 until it may', async () => {
    const { acme } = await startSilent();
    acme.mayManageFlow = false;
    const answer = await sendTo(acme, text);
    expect([answer.status, messageOf(answer)]).toEqual([403, expect.stringContaining("Gerenciar Fluxo")]);
    acme.mayManageFlow = true;
    expect((await sendTo(acme, text)).status).toBe(200);
  });

  test("with a key that was rotated gets 401", async () => {
    const { acme } = await startSilent();
    const headers = { authorization: `Bearer ${acme.flowApiKey}` };
    acme.flowApiKey = "rotated-flow-key";
    expect((await sendTo(acme, text, { headers })).status).toBe(401);
    expect((await sendTo(acme, text)).status).toBe(200);
  });

  test("whose body is no JSON gets 400, JSON that is no object 422", async () => {
    const { acme } = await startSilent();
    for (const body of ["", "hello", "{", "content=hello"])
      expect((await sendTo(acme, 0, { body })).status).toBe(400);
    for (const body of ["[]", "null", "1"]) expect((await sendTo(acme, 0, { body })).status).toBe(422);
  });

  test("beyond 1 MiB gets 413, and is recorded", async () => {
    const { emulator, acme } = await startSilent();
    const answer = await sendTo(acme, { ...text, content: "x".repeat(1024 * 1024) });
    expect(answer.status).toBe(413);
    expect(emulator.requests.at(-1)).toMatchObject({ status: 413, sent: { body: "" } });
  });

  const secret = "s3cr3t-value";
  test.each<[string, object, string]>([
    ["no event", { ...text, event: undefined }, 'event: must be "message_created" or "message_postback"'],
    ["another event", { ...text, event: secret }, 'event: must be "message_created" or "message_postback"'],
    ["no text", { ...text, content: "" }, "content: must not be empty"],
    [
      "a text that is none",
      { ...text, content: 1 },
      "content: must be a text, got a number; put it in quotes",
    ],
    ["another message type", { ...text, message_type: secret }, 'message_type: must be "incoming"'],
    ["no sender", { ...text, sender: undefined }, "sender: is missing; must be an object"],
    ["a contact without id", { ...text, sender: { ...text.sender, id: "" } }, "sender.id: must not be empty"],
    ["an e-mail", { ...text, sender: { ...text.sender, email: secret } }, 'sender.email: must be ""'],
    [
      "a conversation id that is a text",
      { ...text, conversation_id: "42" },
      "conversation_id: must be an integer",
    ],
    ["a workspace id", { ...text, workspace_id: secret }, "workspace_id: is not a known field"],
    ["a name that is none", { ...text, [`${secret}=`]: 1 }, "a name here is not a known field"],
    [
      "a button without value",
      { ...operations["send button payload"], submitted_values: [] },
      "submitted_values: must be a list of exactly one entry",
    ],
    [
      "a button without payload",
      { ...operations["send button payload"], submitted_values: [{ title: "Yes" }] },
      "submitted_values.0.payload: is missing; must be a text",
    ],
    ["an image with a text", { ...image, content: secret }, 'content: must be ""'],
    [
      "media without URL",
      { ...image, attachments: [{ file_type: "image", data_url: secret }] },
      "attachments.0.data_url: must be an absolute http or https URL without white space",
    ],
    [
      "media of another kind",
      { ...image, attachments: [{ file_type: secret, data_url: "https://cdn.example/a" }] },
      'attachments.0.file_type: must be "image", "audio", "video" or "file"',
    ],
    [
      "two media",
      { ...image, attachments: [1, 2].map(() => image.attachments[0]) },
      "attachments: must be a list",
    ],
    ["media that are no list", { ...image, attachments: secret }, "attachments: must be a list"],
  ])("with %s gets 422 that names the field and no value", async (_name, body, problem) => {
    const { acme } = await startSilent();
    const answer = await sendTo(acme, body);
    expect(answer.status).toBe(422);
    expect(messageOf(answer)).toContain(problem);
    expect(answer.text).not.toContain(secret);
    expect(received(acme)).toEqual([]);
  });

  test("names every field that is wrong at once", async () => {
    const { acme } = await startSilent();
    const answer = await sendTo(acme, { ...text, content: "", conversation_id: 1.5 });
    expect(messageOf(answer)).toMatch(/conversation_id: .*; content: /);
  });

  test("whose conversation id would lose digits gets 422", async () => {
    const { acme } = await startSilent();
    const body = JSON.stringify(text).replace('"conversation_id":42', '"conversation_id":9007199254740993');
    const answer = await sendTo(acme, text, { body });
    expect([answer.status, messageOf(answer)]).toEqual([
      422,
      expect.stringContaining("conversation_id: beyond"),
    ]);
  });
});

describe.each<[string, Fault, number | undefined, boolean]>([
  ["{ status }", { status: 503, retryAfterSeconds: 3 }, 503, false],
  ["{ status, afterChange }", { status: 500, afterChange: true }, 500, true],
  ["broken-json", "broken-json", 200, true],
  ["html", "html", 200, true],
  ["close-before", "close-before", undefined, false],
  ["close-after", "close-after", undefined, true],
])("a fault of message: %s", (_name, fault, status, taken) => {
  test(`answers ${status ?? "nothing"}, and the message is ${taken ? "taken" : "not taken"}`, async () => {
    const { emulator, acme } = await startSilent();
    emulator.injectFault({ operation: "message", workspace: "acme", fault });
    const outcome = await sendTo(acme, text).then(
      (answer) => answer.status,
      () => undefined,
    );
    expect(outcome).toBe(status);
    expect(received(acme)).toEqual(taken ? [text] : []);
    const request = emulator.requests.at(-1);
    expect([request?.fault, request?.status]).toEqual([JSON.stringify(fault), status]);
    expect((await sendTo(acme, text)).status).toBe(200);
  });
});

describe("a fault of message", () => {
  test("is not that of a message with a wrong key, nor a call of the registration interface", async () => {
    const { emulator, acme } = await startSilent();
    emulator.injectFault({ operation: "message", fault: { status: 503 } });
    expect((await sendTo(acme, text, { headers: {} })).status).toBe(401);
    expect((await call(acme, "get-webhook")).status).toBe(200);
    expect((await sendTo(acme, text)).status).toBe(503);
  });
});
