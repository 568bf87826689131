import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { EmulatorOptions } from "../../../provider/emulator/index.js";
import { answering, judge, outbound, startScene, waitForDeliveries } from "./harness.js";

/** Starts two deliveries in one conversation; `release` completes the first. */
async function startTwo() {
  const held: ServerResponse[] = [];
  const scene = await startScene({}, (_, response) => {
    if (held.push(response) > 1) response.end();
  });
  const results = [scene.acme.deliver(outbound("first")), scene.acme.deliver(outbound("second"))];
  await waitForDeliveries(scene, 1);
  return { ...scene, results, release: () => held[0]?.end() };
}

describe("deliveries", () => {
  test("arrive in order within a conversation, one at a time, without delaying other conversations", async () => {
    const { acme, results, release, texts } = await startTwo();
    await acme.deliver(outbound("elsewhere", 2));
    expect(texts()).toEqual(["first", "elsewhere"]);
    release();
    await Promise.all(results);
    expect(texts()).toEqual(["first", "elsewhere", "second"]);
  });

  test("are attempted up to deliveryAttempts times, while later ones of the conversation wait", async () => {
    const options = { deliveryAttempts: 2, deliveryRetryMs: 20 };
    const { acme, texts } = await startScene(options, answering(503, 503));
    const results = await Promise.all(["first", "second"].map((text) => acme.deliver(outbound(text))));
    expect(texts()).toEqual(["first", "first", "second"]);
    expect(results.map(({ verdict }) => verdict)).toEqual(["failed", "delivered"]);
  });

  test("use the URL and the key that are registered when they are sent", async () => {
    const { acme, results, release, deliveries } = await startTwo();
    acme.change({ webhook_verification_key: "chave-é-nova" });
    release();
    expect(await Promise.all(results)).toMatchObject([{ signature: "right" }, { signature: "right" }]);
    expect(await judge(deliveries()[0])).toBe(200);
    expect(await judge(deliveries()[1], "chave-é-nova")).toBe(200);
  });

  test("are retried after pauses that double, with a time limit for each attempt", async () => {
    const options = { deliveryAttempts: 4, deliveryRetryMs: 50, deliveryTimeoutMs: 3_000 };
    const { acme, deliveries } = await startScene(options, answering(500, 0, 503));
    const { verdict, attempts } = await acme.deliver(outbound("hello"));
    expect(verdict).toBe("delivered");
    const reasons = ["answered HTTP 500", "no response within 3000 ms", "answered HTTP 503", ""];
    expect(attempts.map(({ reason }) => reason)).toEqual(reasons);
    const ends = attempts.map(({ at, durationMs }) => Date.parse(at) + durationMs);
    const pauses = attempts.slice(1).map(({ at }, index) => Date.parse(at) - (ends[index] ?? 0));
    for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(50 * 2 ** index - 5);
    expect(new Set(deliveries().map(({ body }) => body)).size).toBe(1);
  });
});

/** The handshake fails, but the webhook is registered anyway. */
const unverified: EmulatorOptions = {
  flow: "silent",
  failedHandshake: "unverified",
  faults: [{ operation: "handshake", fault: { status: 500 } }],
};

test("deliveryWhile verified delivers nothing until the webhook is verified", async () => {
  const { acme, texts } = await startScene(unverified);
  await expect(acme.deliver(outbound("no"))).rejects.toMatchObject({ code: "invalid_config" });
  acme.change({ webhook_status: "verified" });
  expect(await acme.deliver(outbound("yes"))).toMatchObject({ verdict: "delivered" });
  expect(texts()).toEqual(["yes"]);
});

test("deliveryWhile registered delivers to any registered webhook", async () => {
  const { acme, texts } = await startScene({ ...unverified, deliveryWhile: "registered" });
  expect(acme.registration?.webhook_status).toBe("failed");
  expect(await acme.deliver(outbound("hello"))).toMatchObject({ verdict: "delivered" });
  expect(texts()).toEqual(["hello"]);
});
