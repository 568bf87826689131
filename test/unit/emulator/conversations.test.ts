import { describe, expect, test } from "vitest";
import type { InboundMessage } from "../../../schema/index.js";
import {
  answerChallenge,
  apiKey,
  call,
  inbound,
  refused,
  sendTo,
  set,
  startEndpoint,
  startSilent,
  text,
} from "./harness.js";

const from = (id: string, content: string, conversation = 42): InboundMessage => {
  const message = inbound(content, conversation);
  return { ...message, sender: { ...message.sender, id } };
};

describe("conversations", () => {
  test("are told apart by contact and by conversation id, in the order in which they began", async () => {
    const { emulator, acme } = await startSilent();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    const [first, last] = [from("u-1", "a"), from("u-1", "d")];
    for (const message of [first, from("u-2", "b"), from("u-1", "c", 43), last]) await acme.send(message);
    await globex.send(from("u-1", "e"));
    expect(acme.conversations).toMatchObject([
      { contactId: "u-1", contactName: "Ana", conversationId: "42", messages: [{}, {}] },
      { contactId: "u-2", conversationId: "42", messages: [{}] },
      { contactId: "u-1", conversationId: "43", messages: [{}] },
    ]);
    const conversation = acme.conversations[0]?.id;
    const known = { from: "contact", workspace: "acme", conversation };
    expect(acme.conversations[0]?.messages).toMatchObject([
      { ...known, body: first },
      { ...known, body: last },
    ]);
    expect(globex.conversations).toHaveLength(1);
    expect(new Set([...acme.conversations, ...globex.conversations].map(({ id }) => id)).size).toBe(4);
  });

  test("are not mixed up by contacts whose ids look like conversation ids", async () => {
    const { acme } = await startSilent();
    for (const message of [from("2x", "a", 1), from("x", "b", 12), from("__proto__", "c", 1)])
      await acme.send(message);
    expect(acme.conversations.map(({ contactId }) => contactId)).toEqual(["2x", "x", "__proto__"]);
  });

  test("keep the last name that the contact had", async () => {
    const { acme } = await startSilent();
    for (const name of ["Ana", "Ana Maria", ""])
      await sendTo(acme, { ...text, sender: { ...text.sender, name } });
    expect(acme.conversations[0]?.contactName).toBe("Ana Maria");
  });
});

describe("send", () => {
  test("gives also the answer of a refusal", async () => {
    const { acme } = await startSilent();
    acme.mayManageFlow = false;
    const message: unknown = expect.stringContaining("Gerenciar Fluxo");
    expect(await acme.send(inbound("a"))).toEqual({ status: 403, body: { status: "error", message } });
    expect(acme.conversations).toEqual([]);
  });

  test("throws unavailable if there is no answer, without the key", async () => {
    const { emulator, acme } = await startSilent();
    emulator.injectFault({ operation: "message", fault: "close-before" });
    const failure: unknown = await acme.send(inbound("a")).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "unavailable", operation: "message" });
    expect(String(failure)).not.toContain(acme.flowApiKey);
  });

  test("stays on this emulator where bot_url was moved to another host", async () => {
    const { acme } = await startSilent();
    acme.change({ botBaseUrl: "http://bots.invalid" });
    expect((await acme.send(inbound("a"))).status).toBe(200);
  });
});

describe("removeWorkspace", () => {
  test("leaves neither address nor bot, and frees name and bot code", async () => {
    const { emulator, acme } = await startSilent();
    const { botUrl, botCode } = acme;
    emulator.removeWorkspace("acme");
    expect([...emulator.workspaces.keys()]).toEqual([]);
    expect(() => emulator.removeWorkspace("acme")).toThrow(refused("acme"));
    expect((await call(acme, "get-webhook")).status).toBe(404);
    expect((await sendTo(acme, text)).status).toBe(404);
    const again = emulator.addWorkspace({ name: "acme", apiKey });
    expect(again).toMatchObject({ botUrl, botCode, conversations: [] });
    expect((await sendTo(again, text)).status).toBe(200);
  });

  test("drops what is still to be delivered", async () => {
    const { emulator, acme } = await startSilent({
      flow: () => ["one", "two"].map((content) => ({ type: "text", text: content })),
    });
    const endpoint = await startEndpoint((request, response) => {
      if (request.headers["x-action"] === undefined) answerChallenge(request, response);
    });
    await set(acme, endpoint.url);
    await acme.send(inbound("a"));
    await expect.poll(() => endpoint.received).toHaveLength(2);
    const { deliveries } = acme;
    emulator.removeWorkspace("acme");
    const dropped = { verdict: "failed", reason: "the workspace was removed" };
    expect(deliveries).toMatchObject([dropped, dropped]);
    // Whatever came later would have come before this.
    await set(emulator.addWorkspace({ name: "acme", apiKey }), endpoint.url);
    expect(endpoint.received.filter(({ body }) => body.includes("two"))).toEqual([]);
  });
});

describe("a workspace's options", () => {
  test("register it from the start, without a handshake", async () => {
    const registration = { webhook_url: "https://chat.example/hook", webhook_verification_key: "a-key" };
    const { acme } = await startSilent({ workspaces: [{ name: "acme", apiKey, registration }] });
    expect(acme.registration).toEqual({ ...registration, webhook_status: "verified", bot_url: acme.botUrl });
    expect((await call(acme, "get-webhook")).body).toMatchObject({ data: registration });
    expect(acme.handshakes).toEqual([]);
  });

  test("say which flow API key works, and whether it may", async () => {
    const options = { name: "acme", apiKey, flowApiKey: "mine", mayManageFlow: false };
    const { acme } = await startSilent({ workspaces: [options] });
    expect(acme.flowApiKey).toBe("mine");
    expect((await sendTo(acme, text)).status).toBe(403);
  });
});
