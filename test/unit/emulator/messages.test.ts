import { describe, expect, test, vi } from "vitest";
import type { Fault } from "../../../provider/emulator/index.js";
import type { Flow } from "../../../provider/emulator/flows/flow.js";
import { apiKey, call, operations, received, sendTo, startSilent, text, type Answer } from "./harness.js";

const image = operations["send image"];
const button = operations["send button payload"];
const messageOf = ({ body }: Answer): string => (body as { message: string }).message;

describe("a message that is right", () => {
  test.each(Object.entries(operations))("%s is taken and kept", async (_operation, message) => {
    const { emulator, acme } = await startSilent();
    const answer = await sendTo(acme, message);
    expect(answer).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(received(acme)).toEqual([message]);
    const conversation = acme.conversations[0]?.id;
    const record = { interface: "bot", workspace: "acme", conversation, status: 200 };
    expect(emulator.requests.at(-1)).toMatchObject(record);
  });

  test.each(["email", "phone_number"])("may lack sender.%s", async (field) => {
    const { acme } = await startSilent();
    expect((await sendTo(acme, { ...text, sender: { ...text.sender, [field]: undefined } })).status).toBe(
      200,
    );
  });

  test("is answered at once, handed to the flow once, and unanswered until that has replied", async () => {
    const { promise: thinking, resolve: reply } = Promise.withResolvers<[]>();
    const flow = vi.fn<Flow>(() => thinking);
    const { acme } = await startSilent({ flow });
    expect((await sendTo(acme, text)).status).toBe(200);
    const [message] = acme.conversations[0]?.messages ?? [];
    expect(message?.unanswered).toBe(true);
    reply([]);
    await expect.poll(() => message?.unanswered).toBe(false);
    expect(flow.mock.calls).toEqual([[expect.objectContaining({ workspace: "acme", message: text })]]);
  });

  test("is taken for the workspace whose bot it is, whatever is registered", async () => {
    const { emulator, acme } = await startSilent();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    await sendTo(globex, text);
    expect([received(acme), received(globex)]).toEqual([[], [text]]);
  });
});

describe("a message that is refused", () => {
  test("at an address without a bot gets 404", async () => {
    const { emulator, acme } = await startSilent();
    for (const path of ["/api/apichat/nobody", "/api/apichat/", "/api/apichat", "/", "/acme/apichat"]) {
      const { status } = await sendTo(acme, text, { url: emulator.botUrl + path });
      expect([path, status]).toEqual([path, 404]);
    }
  });

  test.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])(
    "as %s gets 405 with allow",
    async (method) => {
      const { emulator, acme } = await startSilent();
      const answer = await sendTo(acme, text, { method });
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
      expect(emulator.requests).toMatchObject([{ interface: "bot", workspace: "acme", status: 405 }]);
      expect(received(acme)).toEqual([]);
    },
  );

  test.each<Record<string, string>>([
    {},
    { authorization: "Bearer wrong-key-98765" },
    { authorization: `Bearer ${apiKey}` },
    { authorization: "Basic wrong-key-98765" },
    { authorization: "Bearer " },
    { "x-api-key": "wrong-key-98765" },
  ])("with %j gets 401, also if the body is wrong, and no key is echoed", async (headers) => {
    const { acme } = await startSilent();
    for (const body of [JSON.stringify(text), "no json"]) {
      const answer = await sendTo(acme, text, { headers, body });
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
      expect(messageOf(answer)).toContain("flow API key");
      expect(answer.text).not.toMatch(new RegExp(`wrong-key|${apiKey}|${acme.flowApiKey}`));
    }
    expect(received(acme)).toEqual([]);
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

  test.each([
    ["", 400],
    ["content=hello", 400],
    ["[]", 422],
    ["1", 422],
  ])("with the body %j gets %i", async (body, status) => {
    const { acme } = await startSilent();
    expect(await sendTo(acme, 0, { body })).toMatchObject({ status });
  });

  test("beyond 1 MiB gets 413, and is recorded", async () => {
    const { emulator, acme } = await startSilent();
    const answer = await sendTo(acme, { ...text, content: "x".repeat(1024 * 1024) });
    expect(answer.status).toBe(413);
    expect(emulator.requests.at(-1)).toMatchObject({ status: 413, sent: { body: "" } });
  });

  const secret = "s3cr3t-value";
  const media = (entry: object) => ({ ...image, attachments: [{ ...image.attachments[0], ...entry }] });
  test.each<[string, object, string]>([
    ["another event", { ...text, event: secret }, 'event: must be "message_created" or "message_postback"'],
    ["a number as text", { ...text, content: 1 }, "content: must be a text, got a number; put it in quotes"],
    ["no sender", { ...text, sender: undefined }, "sender: is missing; must be an object"],
    ["an e-mail", { ...text, sender: { ...text.sender, email: secret } }, 'sender.email: must be ""'],
    ["a workspace id", { ...text, workspace_id: secret }, "workspace_id: is not a known field"],
    ["a name that is none", { ...text, [`${secret}=`]: 1 }, "a name here is not a known field"],
    [
      "a button without value",
      { ...button, submitted_values: [] },
      "submitted_values: must be a list of exactly one entry",
    ],
    [
      "a button without payload",
      { ...button, submitted_values: [{ title: "Yes" }] },
      "submitted_values.0.payload: is missing; must be a text",
    ],
    [
      "media without URL",
      media({ data_url: secret }),
      "attachments.0.data_url: must be an absolute http or https URL without white space",
    ],
    [
      "media of another kind",
      media({ file_type: secret }),
      'attachments.0.file_type: must be "image", "audio", "video" or "file"',
    ],
    [
      "two media",
      { ...image, attachments: [1, 2].map(() => image.attachments[0]) },
      "attachments: must be a list",
    ],
    [
      "two wrong fields",
      { ...text, content: "", sender: 1 },
      "sender: must be an object, got a number; content: ",
    ],
  ])("with %s gets 422 that names the field and no value", async (_name, body, problem) => {
    const { acme } = await startSilent();
    const answer = await sendTo(acme, body);
    expect(answer.status).toBe(422);
    expect(messageOf(answer)).toContain(problem);
    expect(answer.text).not.toContain(secret);
    expect(received(acme)).toEqual([]);
  });
});

describe("a fault of message", () => {
  test.each<[Fault, number | undefined, boolean]>([
    [{ status: 503, retryAfterSeconds: 3 }, 503, false],
    [{ status: 500, afterChange: true }, 500, true],
    ["broken-json", 200, true],
    ["html", 200, true],
    ["close-before", undefined, false],
    ["close-after", undefined, true],
  ])("%j answers %s, the message taken: %s", async (fault, status, isTaken) => {
    const { emulator, acme } = await startSilent();
    emulator.injectFault({ operation: "message", workspace: "acme", fault });
    const outcome = await sendTo(acme, text).catch(() => undefined);
    expect(outcome?.status).toBe(status);
    expect(received(acme)).toEqual(isTaken ? [text] : []);
    const request = emulator.requests.at(-1);
    expect([request?.fault, request?.status]).toEqual([JSON.stringify(fault), status]);
    expect((await sendTo(acme, text)).status).toBe(200);
  });

  test("is not that of a message with a wrong key, nor a call of the registration interface", async () => {
    const { emulator, acme } = await startSilent();
    emulator.injectFault({ operation: "message", fault: { status: 503 } });
    expect((await sendTo(acme, text, { headers: {} })).status).toBe(401);
    expect((await call(acme, "get-webhook")).status).toBe(200);
    expect((await sendTo(acme, text)).status).toBe(503);
  });
});
