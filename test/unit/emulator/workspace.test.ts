import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { OutboundMessage } from "../../../schema/index.js";
import {
  apiKey,
  call,
  emptyConfiguration,
  set,
  startAcme,
  startEndpoint,
  verificationKey,
} from "./harness.js";

const message: OutboundMessage = {
  sender_id: "contact-1",
  conv_id: 42,
  type: "text",
  message_type: "outgoing",
  private: false,
  text: "Olá, é você? 👋",
};

const sign = (key: string, body: string): string =>
  `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;

const refused = (text: string): unknown =>
  expect.objectContaining({ code: "invalid_config", message: expect.stringContaining(text) });

describe("change", () => {
  test("changes any field behind the caller's back, without a handshake", async () => {
    const { acme } = await startAcme();
    await set(acme, (await startEndpoint()).url);
    acme.change({ webhook_url: "https://other.example/hook" });
    acme.change({ webhook_verification_key: "other-key" });
    acme.change({ webhook_status: "" });
    const data = {
      webhook_url: "https://other.example/hook",
      webhook_verification_key: "other-key",
      webhook_status: "",
      bot_url: acme.botUrl,
    };
    expect((await call(acme, "get-webhook")).json()).toEqual({ status: "ok", data });
    expect(acme.registration).toEqual(data);
    expect(acme.handshakes).toHaveLength(1);
  });

  test("gives the workspace another bot, or the same bot another host", async () => {
    const { acme, emulator } = await startAcme();
    await set(acme, (await startEndpoint()).url);
    acme.change({ botCode: "another-bot" });
    expect(acme.registration?.bot_url).toBe(`${emulator.botUrl}/api/apichat/another-bot`);
    acme.change({ botBaseUrl: "http://127.0.0.2:9" });
    expect(acme.registration?.bot_url).toBe("http://127.0.0.2:9/api/apichat/another-bot");
    expect(acme.botCode).toBe("another-bot");
  });

  test("makes the address reach another workspace, and gives it back", async () => {
    const { acme, emulator } = await startAcme();
    const globex = emulator.addWorkspace({ name: "globex", apiKey: "key-of-globex" });
    await set(globex, (await startEndpoint()).url);
    acme.change({ owner: "globex" });
    expect((await call(acme, "get-webhook")).json()).toMatchObject({ data: { bot_url: globex.botUrl } });
    expect((await call(acme, "delete-webhook")).status).toBe(200);
    expect(globex.registration).toBeUndefined();
    acme.change({ owner: "acme" });
    await set(acme, (await startEndpoint()).url);
    expect(acme.registration).toBeDefined();
  });

  test("refuses what cannot be", async () => {
    const { acme, emulator } = await startAcme();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    expect(() => acme.change({ webhook_status: "verified" })).toThrow(refused("takeOver"));
    expect(() => acme.change({ owner: "nobody" })).toThrow(refused("nobody"));
    expect(() => acme.change({ botCode: globex.botCode })).toThrow(refused("globex"));
    expect(() => acme.change({ botBaseUrl: "nowhere" })).toThrow(refused("botBaseUrl"));
    expect(() => acme.change({ status: "x" } as object)).toThrow(refused("status"));
    expect(() => acme.takeOver({ webhook_url: "", webhook_verification_key: "k" })).toThrow(
      refused("webhook_url"),
    );
  });
});

test("takeOver registers somebody else's endpoint", async () => {
  const { acme } = await startAcme();
  const theirs = { webhook_url: "https://other.example/hook", webhook_verification_key: "their-key" };
  acme.takeOver(theirs);
  const data = { ...theirs, webhook_status: "verified", bot_url: acme.botUrl };
  expect((await call(acme, "get-webhook")).json()).toEqual({ status: "ok", data });
  expect(acme.handshakes).toEqual([]);
});

test("remove empties the registration", async () => {
  const { acme } = await startAcme();
  await set(acme, (await startEndpoint()).url);
  acme.remove();
  expect(acme.registration).toBeUndefined();
  expect((await call(acme, "get-webhook")).json()).toEqual({ status: "ok", data: emptyConfiguration });
});

describe("deliver", () => {
  test("posts the message to the registered URL with the headers and the signature of its bytes", async () => {
    const { acme } = await startAcme();
    const { url, received } = await startEndpoint();
    await set(acme, `${url}?token=1`);
    const result = await acme.deliver(message);
    const delivery = received[1];
    expect(delivery).toMatchObject({
      method: "POST",
      path: "/webhook?token=1",
      headers: {
        "content-type": "application/json",
        "x-hub-signature-256": sign(verificationKey, delivery?.body ?? ""),
        "x-flow-ns": acme.flowNs,
        "x-action": "messages",
      },
    });
    expect(JSON.parse(delivery?.body ?? "")).toEqual(message);
    expect(result.sent.body).toBe(delivery?.body);
    expect(result).toMatchObject({
      url: `${url}?token=1`,
      verdict: "delivered",
      reason: "",
      status: 200,
      attempts: [{ received: { body: "" } }],
    });
    expect(acme.deliveries).toEqual([result]);
  });

  test("signs with the key that is registered now", async () => {
    const { acme } = await startAcme();
    const { url, received } = await startEndpoint();
    await set(acme, url);
    acme.change({ webhook_verification_key: "chave-é-nova" });
    await acme.deliver(message);
    expect(received[1]?.headers["x-hub-signature-256"]).toBe(sign("chave-é-nova", received[1]?.body ?? ""));
  });

  test("sends what a test wants instead: the signature, or the bytes", async () => {
    const { acme } = await startAcme();
    const { url, received } = await startEndpoint();
    await set(acme, url);
    await acme.deliver(message, { signature: "sha256=wrong" });
    await acme.deliver(message, { body: '{"text":"a\\/b"}' });
    expect(received[1]?.headers["x-hub-signature-256"]).toBe("sha256=wrong");
    expect(received[2]?.body).toBe('{"text":"a\\/b"}');
    expect(received[2]?.headers["x-hub-signature-256"]).toBe(sign(verificationKey, '{"text":"a\\/b"}'));
  });

  test("keeps the digits of a conversation id beyond the safe integers", async () => {
    const { acme } = await startAcme();
    const { url, received } = await startEndpoint();
    await set(acme, url);
    await acme.deliver({ ...message, conv_id: 9007199254740993n });
    expect(received[1]?.body).toContain('"conv_id":9007199254740993');
    expect(() => JSON.parse(received[1]?.body ?? "") as unknown).not.toThrow();
  });

  test("keeps the first 64 KiB of a longer answer, which counts as any other", async () => {
    const { acme } = await startAcme();
    const { url } = await startEndpoint((_, response) => response.end("x".repeat(100_000)));
    acme.takeOver({ webhook_url: url, webhook_verification_key: verificationKey });
    const { verdict, status, attempts } = await acme.deliver(message);
    expect({ verdict, status, length: attempts[0]?.received?.body.length }).toEqual({
      verdict: "delivered",
      status: 200,
      length: 64 * 1024,
    });
  });

  test("tells of an endpoint that refuses, redirects or is silent", async () => {
    const { acme } = await startAcme();
    const key = { webhook_verification_key: verificationKey };
    const refusing = await startEndpoint((_, response) => response.writeHead(401).end("bad signature"));
    acme.takeOver({ webhook_url: refusing.url, ...key });
    expect(await acme.deliver(message)).toMatchObject({
      verdict: "failed",
      status: 401,
      attempts: [{ received: { body: "bad signature" } }],
    });
    const redirecting = await startEndpoint((_, response) =>
      response.writeHead(308, { location: refusing.url }).end(),
    );
    acme.takeOver({ webhook_url: redirecting.url, ...key });
    expect(await acme.deliver(message)).toMatchObject({ verdict: "failed", status: 308 });
    const silent = await startEndpoint(() => undefined);
    acme.takeOver({ webhook_url: silent.url, ...key });
    expect(await acme.deliver(message, { timeoutMs: 100 })).toMatchObject({
      verdict: "failed",
      attempts: [{ received: null }],
      reason: expect.stringContaining("100 ms"),
    });
    expect(refusing.received).toHaveLength(1);
    expect(acme.deliveries).toHaveLength(3);
  });

  test("needs a registration", async () => {
    const { acme } = await startAcme();
    await expect(acme.deliver(message)).rejects.toMatchObject({ code: "invalid_config" });
  });
});
