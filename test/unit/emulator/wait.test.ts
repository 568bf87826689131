import { describe, expect, test } from "vitest";
import { keep } from "../../../provider/emulator/state.js";
import {
  control,
  inbound,
  outbound,
  QUERY_VALUE,
  refused,
  set,
  startAcme,
  startEndpoint,
  startHeldEndpoint,
  startScene,
  verificationKey,
} from "./harness.js";

const reply = outbound("Olá", 42);
const timeout = (instead: string): unknown => refused(instead, "timeout");

describe("waitForDelivery", () => {
  test("returns the newest match, if there is one", async () => {
    const { emulator, acme } = await startScene();
    const one = await acme.deliver(outbound("one"));
    const two = await acme.deliver({ ...outbound("two"), conv_id: 9007199254740993n });
    expect(await emulator.waitForDelivery()).toBe(two);
    expect(await emulator.waitForDelivery(({ request }) => request.body.includes("one"))).toBe(one);
    expect(await emulator.waitForDelivery({ message: { type: "text", text: "one" } })).toBe(one);
  });

  test("waits for the first match, and then for that delivery's verdict", async () => {
    const { emulator, acme } = await startAcme();
    const held = await startHeldEndpoint();
    acme.takeOver({ webhook_url: held.url, webhook_verification_key: verificationKey });
    const waiting = emulator.waitForDelivery({ workspace: "acme" });
    await control(emulator, "POST /_emulator/workspaces/acme/replies", reply);
    const answer = await held.asked;
    expect(await emulator.waitForDelivery({ verdict: "pending" })).toMatchObject({ attempts: [] });
    answer();
    expect(await waiting).toMatchObject({ verdict: "delivered" });
  });

  test("throws a timeout that lists other deliveries or says why there are none, without secrets", async () => {
    const { emulator, acme, endpoint } = await startScene();
    const soon = { timeoutMs: 1 };
    const giveUp = (match: object): Promise<unknown> =>
      emulator.waitForDelivery(match, soon).catch((error: unknown) => error);
    expect(await giveUp({})).toEqual(timeout("no delivery was recorded"));
    await acme.deliver(reply);
    const failure = await giveUp({ verdict: "failed" });
    expect(failure).toEqual(timeout('of workspace "acme" delivered'));
    expect(String(failure)).not.toContain(QUERY_VALUE);
    const unknown = timeout('there is no workspace named "globex"; the emulator has acme');
    expect(await giveUp({ workspace: "globex" })).toEqual(unknown);
    await expect(emulator.waitForHandshake({ workspace: "globex" }, soon)).rejects.toThrow(unknown);
    emulator.addWorkspace({ name: "idle", apiKey: "key-of-idle" });
    const idle = timeout("no verified webhook is registered in idle");
    expect(await giveUp({ workspace: "idle" })).toEqual(idle);
    await expect(emulator.waitForHandshake({ workspace: "idle", url: endpoint.url }, soon)).rejects.toThrow(
      timeout("the last of 1: "),
    );
  });
});

test("waitForHandshake returns passed and failed handshakes", async () => {
  const { emulator, acme } = await startAcme();
  const waiting = emulator.waitForHandshake({ verdict: "failed" });
  await set(acme, (await startEndpoint((_, response) => response.writeHead(403).end())).url);
  expect(await waiting).toBe(acme.handshakes[0]);
  await set(acme, (await startEndpoint()).url);
  expect(await emulator.waitForHandshake()).toBe(acme.handshakes[1]);
  expect(await emulator.waitForHandshake({ response: { status: 403 } })).toBe(acme.handshakes[0]);
});

test("waitForMessage finds a message in either direction by its content", async () => {
  const { emulator, acme } = await startScene({ flow: "echo" });
  await acme.send(inbound("hello"));
  expect(await emulator.waitForMessage({ body: { content: "hello" } })).toMatchObject({ from: "contact" });
  expect(await emulator.waitForMessage({ from: "flow" })).toMatchObject({ body: { sender_id: "contact-1" } });
});

describe("reset", () => {
  test("removes records and faults, and keeps workspaces and registrations unless workspaces is true", async () => {
    const { emulator, acme, endpoint } = await startScene();
    const before = await acme.deliver(reply);
    emulator.injectFault({ operation: "message", fault: "html" });
    await emulator.reset();
    expect(emulator.requests).toEqual([]);
    expect(acme).toMatchObject({ deliveries: [], handshakes: [], conversations: [] });
    expect((await control(emulator, "GET /_emulator/faults")).body).toEqual([]);
    expect(acme.registration?.webhook_url).toContain(endpoint.url);
    expect((await acme.deliver(reply)).order).toBeGreaterThan(before.order);
    await emulator.reset({ workspaces: true });
    expect(emulator.workspaces.size).toBe(0);
  });

  test("aborts deliveries in progress", async () => {
    const options = { deliveryTimeoutMs: 60_000, deliveryAttempts: 5, deliveryRetryMs: 1 };
    const { emulator, acme } = await startAcme(options);
    const [held, other] = [await startHeldEndpoint(), await startEndpoint()];
    acme.takeOver({ webhook_url: held.url, webhook_verification_key: verificationKey });
    for (let count = 0; count < 2; count += 1) {
      await control(emulator, "POST /_emulator/workspaces/acme/replies", reply);
    }
    await held.asked;
    expect((await control(emulator, "POST /_emulator/reset", {})).status).toBe(204);
    expect(acme.deliveries).toEqual([]);
    acme.takeOver({ webhook_url: other.url, webhook_verification_key: verificationKey });
    await acme.deliver(outbound("after"));
    expect(held.received).toHaveLength(1);
    expect(other.received).toHaveLength(1);
  });
});

test("a list of records keeps at least the newest 10,000", () => {
  const list: number[] = [];
  for (let record = 0; record < 25_000; record += 1) keep(list, record);
  expect(list.slice(-10_000)).toEqual(Array.from({ length: 10_000 }, (_, index) => 15_000 + index));
  expect(list.length).toBeLessThan(11_000);
});
