import { describe, expect, test } from "vitest";
import type { InboundMessage } from "../../../schema/index.js";
import { answerChallenge, apiKey, call, set, startEndpoint } from "./harness.js";
import { sendTo, startSilent, text } from "./messages-harness.js";

const message = (content: string, contact = "u-1", conversation_id = 42): InboundMessage => ({
  message_type: "incoming",
  sender: { id: contact, name: `Name of ${contact}`, type: "contact" },
  conversation_id,
  event: "message_created",
  content,
});

describe("conversations", () => {
  test("hold the messages of one contact under one conversation id, oldest first", async () => {
    const { acme } = await startSilent();
    await acme.send(message("one"));
    await acme.send(message("two"));
    const [conversation] = acme.conversations;
    expect(acme.conversations).toHaveLength(1);
    expect(conversation).toMatchObject({
      contactId: "u-1",
      contactName: "Name of u-1",
      conversationId: "42",
    });
    expect(conversation?.messages).toEqual([
      expect.objectContaining({ from: "contact", body: message("one"), conversation: conversation?.id }),
      expect.objectContaining({ from: "contact", body: message("two"), workspace: "acme" }),
    ]);
  });

  test("are told apart by contact and by conversation id, in the order in which they began", async () => {
    const { emulator, acme } = await startSilent();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    await acme.send(message("a"));
    await acme.send(message("b", "u-2"));
    await acme.send(message("c", "u-1", 43));
    await acme.send(message("d"));
    await globex.send(message("e"));
    const seen = acme.conversations.map(({ contactId, conversationId, messages }) => [
      contactId,
      conversationId,
      messages.length,
    ]);
    expect(seen).toEqual([
      ["u-1", "42", 2],
      ["u-2", "42", 1],
      ["u-1", "43", 1],
    ]);
    expect(globex.conversations).toHaveLength(1);
    expect(new Set([...acme.conversations, ...globex.conversations].map(({ id }) => id)).size).toBe(4);
  });

  test("are not mixed up by contacts whose ids look like conversation ids", async () => {
    const { acme } = await startSilent();
    await acme.send(message("a", "2x", 1));
    await acme.send(message("b", "x", 12));
    await acme.send(message("c", "__proto__", 1));
    expect(acme.conversations.map(({ contactId }) => contactId)).toEqual(["2x", "x", "__proto__"]);
  });

  test("keep the last name that the contact had", async () => {
    const { acme } = await startSilent();
    for (const name of ["Ana", "Ana Maria", ""])
      await sendTo(acme, { ...text, sender: { ...text.sender, name } });
    expect(acme.conversations[0]?.contactName).toBe("Ana Maria");
  });

  test("do not begin with a message that is refused", async () => {
    const { acme } = await startSilent();
    await sendTo(acme, { ...text, content: "" });
    expect(acme.conversations).toEqual([]);
  });
});

describe("send", () => {
  test("gives also the answer of a refusal", async () => {
    const { acme } = await startSilent();
    acme.mayManageFlow = false;
    expect(await acme.send(message("a"))).toEqual({
      status: 403,
      body: { status: "error", message: expect.stringContaining("Gerenciar Fluxo") },
    });
  });

  test("throws unavailable if there is no answer, without the key", async () => {
    const { emulator, acme } = await startSilent();
    emulator.injectFault({ operation: "message", fault: "close-before" });
    const failure = await acme.send(message("a")).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "unavailable", operation: "message" });
    expect(String(failure)).not.toContain(acme.flowApiKey);
  });

  test("stays on this emulator where bot_url was moved to another host", async () => {
    const { acme } = await startSilent();
    acme.change({ botBaseUrl: "http://bots.invalid" });
    expect((await acme.send(message("a"))).status).toBe(200);
  });
});

describe("removeWorkspace", () => {
  test("leaves neither address nor bot, and frees name and bot code", async () => {
    const { emulator, acme } = await startSilent();
    const [botUrl, botCode] = [acme.botUrl, acme.botCode];
    emulator.removeWorkspace("acme");
    expect([...emulator.workspaces.keys()]).toEqual([]);
    expect((await call(acme, "get-webhook")).status).toBe(404);
    expect((await sendTo(acme, text)).status).toBe(404);
    const again = emulator.addWorkspace({ name: "acme", apiKey });
    expect([again.botUrl, again.botCode, again.conversations]).toEqual([botUrl, botCode, []]);
    expect((await sendTo(again, text)).status).toBe(200);
  });

  test("drops what is still to be delivered", async () => {
    const { emulator, acme } = await startSilent({
      flow: () => [
        { type: "text", text: "one" },
        { type: "text", text: "two" },
      ],
    });
    const endpoint = await startEndpoint((request, response) => {
      if (request.headers["x-action"] === undefined) answerChallenge(request, response);
    });
    await set(acme, endpoint.url);
    await acme.send(message("a"));
    await expect.poll(() => endpoint.received).toHaveLength(2);
    const { deliveries } = acme;
    emulator.removeWorkspace("acme");
    expect(deliveries.map(({ verdict, reason }) => [verdict, reason])).toEqual([
      ["failed", "the workspace was removed"],
      ["failed", "the workspace was removed"],
    ]);
    // Whatever came later would have come before this.
    const again = emulator.addWorkspace({ name: "acme", apiKey });
    await set(again, endpoint.url);
    expect(endpoint.received.map(({ body }) => body).filter((body) => body.includes("two"))).toEqual([]);
  });

  test("refuses a name that nobody has", async () => {
    const { emulator } = await startSilent();
    const refused: unknown = expect.objectContaining({ code: "invalid_config" });
    expect(() => emulator.removeWorkspace("globex")).toThrow(refused);
  });
});

describe("a workspace's options", () => {
  test("register it from the start, without a handshake", async () => {
    const registration = { webhook_url: "https://chat.example/hook", webhook_verification_key: "a-key" };
    const { acme } = await startSilent({ workspaces: [{ name: "acme", apiKey, registration }] });
    expect(acme.registration).toEqual({ ...registration, webhook_status: "verified", bot_url: acme.botUrl });
    expect((await call(acme, "get-webhook")).json()).toMatchObject({ data: registration });
    expect(acme.handshakes).toEqual([]);
  });

  test("say which flow API key works, and whether it may", async () => {
    const { acme } = await startSilent({
      workspaces: [{ name: "acme", apiKey, flowApiKey: "mine", mayManageFlow: false }],
    });
    expect(acme.flowApiKey).toBe("mine");
    expect((await sendTo(acme, text)).status).toBe(403);
  });

  test("give the same flow API key in the next run, and one of its own to each workspace", async () => {
    const [one, two] = [await startSilent(), await startSilent()];
    expect(one.acme.flowApiKey).toBe(two.acme.flowApiKey);
    const globex = one.emulator.addWorkspace({ name: "globex", apiKey });
    expect(globex.flowApiKey).not.toBe(one.acme.flowApiKey);
  });

  test.each([
    [{ flowApiKey: "ção" }, "flowApiKey"],
    [{ flowApiKey: "" }, "flowApiKey"],
    [{ mayManageFlow: "yes" }, "mayManageFlow"],
    [{ flow: "nobody" }, "flow"],
    [{ botCode: "a/b" }, "botCode"],
  ])("are changed whole or not at all: %j is refused", async (change, named) => {
    const { acme } = await startSilent();
    const before = { ...acme };
    const refused: unknown = expect.objectContaining({
      code: "invalid_config",
      message: expect.stringContaining(named),
    });
    expect(() => acme.change({ apiKey: "another-key", ...change } as object)).toThrow(refused);
    expect({ ...acme }).toEqual(before);
  });
});
