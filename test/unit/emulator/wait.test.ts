import { describe, expect, onTestFinished, test } from "vitest";
import { control, inbound, reply, startRegistered } from "./control-harness.js";
import { set, startAcme, startEndpoint, startHeldEndpoint, verificationKey } from "./harness.js";

const refused = (code: string, text: string): unknown =>
  expect.objectContaining({ code, message: expect.stringContaining(text) });

describe("waitForDelivery", () => {
  test("gives the newest that matches, if there is one", async () => {
    const { emulator, acme } = await startRegistered();
    await acme.deliver({ ...reply, text: "one" });
    const two = await acme.deliver({ ...reply, text: "two" });
    expect(await emulator.waitForDelivery()).toBe(two);
    expect(await emulator.waitForDelivery({ workspace: "acme", verdict: "delivered" })).toBe(two);
    expect(await emulator.waitForDelivery(({ sent }) => sent.body.includes("one"))).toBe(acme.deliveries[0]);
  });

  test("waits for the first one to come, with its verdict", async () => {
    const { emulator, acme } = await startAcme();
    const held = await startHeldEndpoint();
    acme.takeOver({ webhook_url: held.url, webhook_verification_key: verificationKey });
    const waiting = emulator.waitForDelivery({ workspace: "acme" });
    const answered = control(emulator, "POST /_emulator/workspaces/acme/replies", reply);
    const answer = await held.asked.catch(() => undefined);
    expect(await emulator.waitForDelivery({ verdict: "pending" })).toMatchObject({ attempts: [] });
    answer?.();
    await answered;
    expect(await waiting).toMatchObject({ verdict: "delivered" });
  });

  test("after a record waits for a newer one", async () => {
    const { emulator, acme } = await startRegistered();
    const first = await acme.deliver(reply);
    const waiting = emulator.waitForDelivery({}, { after: first });
    const second = await acme.deliver(reply);
    expect(await waiting).toBe(second);
  });

  test("gives up after its time, and says what was there instead, without secrets", async () => {
    const { emulator, acme } = await startRegistered();
    await expect(emulator.waitForDelivery({}, { timeoutMs: 1 })).rejects.toThrow(
      refused("timeout", "none at all"),
    );
    await acme.deliver(reply);
    const failure: unknown = await emulator
      .waitForDelivery({ verdict: "failed" }, { timeoutMs: 1 })
      .catch((error: unknown) => error);
    expect(failure).toEqual(refused("timeout", 'of workspace "acme" delivered'));
    expect(String(failure)).not.toContain("query-value");
  });

  test("gives up with the reason why there could be none", async () => {
    const { emulator, acme } = await startAcme();
    const giveUp = (match: object): Promise<unknown> => emulator.waitForDelivery(match, { timeoutMs: 1 });
    await expect(giveUp({})).rejects.toThrow(refused("timeout", "no verified webhook is registered in acme"));
    await expect(giveUp({ workspace: "acme" })).rejects.toThrow(
      refused("timeout", "no verified webhook is registered"),
    );
    await expect(giveUp({ workspace: "globex" })).rejects.toThrow(
      refused("timeout", 'there is no workspace named "globex"; there are acme'),
    );
    await expect(emulator.waitForHandshake({ workspace: "globex" }, { timeoutMs: 1 })).rejects.toThrow(
      refused("timeout", "no workspace"),
    );
    await expect(emulator.waitForHandshake({}, { timeoutMs: 1 })).rejects.toThrow(
      refused("timeout", "none at all"),
    );
    acme.takeOver({ webhook_url: "https://chat.example/hook", webhook_verification_key: verificationKey });
    await expect(giveUp({})).rejects.toThrow(refused("timeout", "none at all"));
  });

  test("gives the message that is delivered, and to whom, also of one that is sent again", async () => {
    const { emulator, acme } = await startRegistered();
    const sent = await acme.deliver({ ...reply, conv_id: 9007199254740993n });
    const named = { contactId: "contact-1", conversationId: "9007199254740993", message: { text: "Olá" } };
    expect(sent).toMatchObject(named);
    expect(await emulator.waitForDelivery({ message: { type: "text", text: "Olá" } })).toBe(sent);
    await control(emulator, `POST /_emulator/deliveries/${sent.id}/resend`);
    expect(await emulator.waitForDelivery({ resendOf: sent.id })).toMatchObject(named);
  });

  test("ends with its signal, and with the emulator", async () => {
    const { emulator } = await startAcme();
    const reason = new Error("enough");
    await expect(emulator.waitForDelivery({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    setImmediate(() => controller.abort(reason));
    await expect(emulator.waitForDelivery({}, { signal: controller.signal })).rejects.toBe(reason);
    const [waited] = await Promise.allSettled([emulator.waitForDelivery(), emulator.close()]);
    expect(waited).toMatchObject({ reason: refused("unavailable", "closed") });
  });
});

test("waitForHandshake gives the handshake, whatever its verdict", async () => {
  const { emulator, acme } = await startAcme();
  const waiting = emulator.waitForHandshake({ verdict: "failed" });
  await set(acme, (await startEndpoint((_, response) => response.writeHead(403).end())).url);
  expect(await waiting).toBe(acme.handshakes[0]);
  await set(acme, (await startEndpoint()).url);
  expect(await emulator.waitForHandshake()).toBe(acme.handshakes[1]);
  expect(await emulator.waitForHandshake({ received: { status: 403 } })).toBe(acme.handshakes[0]);
});

test("waitForMessage gives a message of either direction, by what is in it", async () => {
  const { emulator, acme } = await startRegistered({ flow: "echo" });
  await acme.send(inbound);
  expect(await emulator.waitForMessage({ body: { content: "hello" } })).toMatchObject({ from: "contact" });
  expect(await emulator.waitForMessage({ from: "flow" })).toMatchObject({ body: { sender_id: "contact-1" } });
});

describe("reset", () => {
  test("forgets what happened, and leaves the workspaces with their registrations", async () => {
    const { emulator, acme, endpoint } = await startRegistered();
    const before = await acme.deliver(reply);
    emulator.injectFault({ operation: "message", fault: "html" });
    await emulator.reset();
    expect(emulator.requests).toEqual([]);
    expect(acme.deliveries).toEqual([]);
    expect(acme.handshakes).toEqual([]);
    expect(acme.conversations).toEqual([]);
    expect((await control(emulator, "GET /_emulator/faults")).body).toEqual([]);
    expect(acme.registration?.webhook_url).toContain(endpoint.url);
    const after = await acme.deliver(reply);
    expect(after.order).toBeGreaterThan(before.order);
  });

  test("removes the workspaces too, if asked", async () => {
    const { emulator } = await startAcme();
    await emulator.reset({ workspaces: true });
    expect(emulator.workspaces.size).toBe(0);
  });

  test("breaks off what is being delivered, and nothing of it comes later", async () => {
    const { emulator, acme } = await startAcme({
      deliveryTimeoutMs: 60_000,
      deliveryAttempts: 5,
      deliveryRetryMs: 1,
    });
    const held = await startHeldEndpoint();
    onTestFinished(held.close);
    acme.takeOver({ webhook_url: held.url, webhook_verification_key: verificationKey });
    const answered = await control(emulator, "POST /_emulator/workspaces/acme/replies", reply);
    await control(emulator, "POST /_emulator/workspaces/acme/replies", reply);
    expect(answered.status).toBe(201);
    await expect.poll(() => held.received.length).toBe(1);
    expect((await control(emulator, "POST /_emulator/reset", {})).status).toBe(204);
    expect(acme.deliveries).toEqual([]);
    const other = await startEndpoint();
    acme.takeOver({ webhook_url: other.url, webhook_verification_key: verificationKey });
    await acme.deliver({ ...reply, text: "after" });
    expect(held.received).toHaveLength(1);
    expect(other.received).toHaveLength(1);
  });
});
