import { describe, expect, test } from "vitest";
import type { EmulatorOptions } from "../../../provider/emulator/index.js";
import type { OutboundGenericTemplate } from "../../../schema/index.js";
import { answering, judge, outbound, press, say, startScene, waitForDeliveries } from "./harness.js";

type Reading<Name extends keyof EmulatorOptions> = NonNullable<EmulatorOptions[Name]>;

const message = outbound("Olá/👋");

describe("deliveryWhile", () => {
  /** A workspace whose handshake failed, and was registered nevertheless. */
  const unverified: EmulatorOptions = {
    failedHandshake: "unverified",
    faults: [{ operation: "handshake", fault: { status: 500 } }],
  };

  test("verified delivers nothing to a webhook whose handshake failed, until it is verified", async () => {
    const { acme, texts } = await startScene(unverified);
    expect(acme.registration?.webhook_status).toBe("failed");
    await say(acme, "hello");
    await expect.poll(() => acme.conversations[0]?.messages).toHaveLength(2);
    expect(acme.conversations[0]?.messages[1]).toMatchObject({ from: "flow", delivery: null });
    await expect(acme.deliver(message)).rejects.toMatchObject({ code: "invalid_config" });
    acme.change({ webhook_status: "verified" });
    expect(await acme.deliver(message)).toMatchObject({ verdict: "delivered" });
    expect(texts()).toEqual(["Olá/👋"]);
  });

  test("verified ends the tries of a delivery whose webhook is verified no longer", async () => {
    const options = { deliveryAttempts: 3, deliveryRetryMs: 1 };
    const { acme, deliveries } = await startScene(options, (_, response) => {
      acme.change({ webhook_status: "failed" });
      response.writeHead(500).end();
    });
    expect(await acme.deliver(message)).toMatchObject({ verdict: "failed" });
    expect(deliveries()).toHaveLength(1);
  });

  test("registered delivers to any webhook that is registered", async () => {
    const { acme, deliveries } = await startScene({ ...unverified, deliveryWhile: "registered" });
    expect(acme.registration?.webhook_status).toBe("failed");
    expect(await acme.deliver(message)).toMatchObject({ verdict: "delivered" });
    expect(deliveries()).toHaveLength(1);
  });
});

describe("deliveryAnswer", () => {
  test.each<[Reading<"deliveryAnswer">, number, string]>([
    ["2xx", 200, "delivered"],
    ["2xx", 204, "delivered"],
    ["2xx", 302, "failed"],
    ["2xx", 500, "failed"],
    ["200", 200, "delivered"],
    ["200", 204, "failed"],
    ["any", 500, "delivered"],
    ["any", 302, "delivered"],
  ])("%s takes HTTP %i as %s", async (deliveryAnswer, status, verdict) => {
    const { acme } = await startScene({ deliveryAnswer }, answering(status));
    expect(await acme.deliver(message)).toMatchObject({ verdict, status });
  });
});

describe("deliveryEncoding", () => {
  test.each<[Reading<"deliveryEncoding">, string]>([
    ["json", '"text":"Olá/👋"'],
    ["php", String.raw`"text":"Ol\u00e1\/\ud83d\udc4b"`],
  ])("%s writes slashes and accents its way, and signs what it wrote", async (deliveryEncoding, written) => {
    const { acme, deliveries } = await startScene({ deliveryEncoding });
    await acme.deliver(message);
    const [delivery] = deliveries();
    expect(delivery?.body).toContain(written);
    expect(JSON.parse(delivery?.body ?? "")).toEqual(message);
    expect(await judge(delivery)).toBe(200);
  });
});

describe("deliveryAttempts and deliveryRetryMs", () => {
  test.each<[string, EmulatorOptions]>([
    ["once by default", {}],
    ["no oftener than asked for", { deliveryAttempts: 2, deliveryRetryMs: 1 }],
  ])("try a delivery %s", async (_what, options) => {
    const { acme, deliveries } = await startScene(options, answering(500, 500, 500));
    expect(await acme.deliver(message)).toMatchObject({ verdict: "failed", reason: "answered HTTP 500" });
    expect(deliveries()).toHaveLength(options.deliveryAttempts ?? 1);
  });

  test("tries a delivery that failed so often, with a pause that doubles", async () => {
    const options = { deliveryAttempts: 4, deliveryRetryMs: 50, deliveryTimeoutMs: 200 };
    const { acme, deliveries } = await startScene(options, answering(500, 0, 503));
    const { verdict, attempts } = await acme.deliver(message);
    expect(verdict).toBe("delivered");
    const reasons = ["answered HTTP 500", "no answer within 200 ms", "answered HTTP 503", ""];
    expect(attempts.map(({ reason }) => reason)).toEqual(reasons);
    const ends = attempts.map(({ at, durationMs }) => Date.parse(at) + durationMs);
    const pauses = attempts.slice(1).map(({ at }, index) => Date.parse(at) - (ends[index] ?? 0));
    for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(50 * 2 ** index - 5);
    expect(new Set(deliveries().map(({ body }) => body)).size).toBe(1);
  });
});

test("deliveryTimeoutMs ends a try that is not answered", async () => {
  const { acme } = await startScene({ deliveryTimeoutMs: 50 }, answering(0));
  const reason = "no answer within 50 ms";
  expect(await acme.deliver(message)).toMatchObject({ verdict: "failed", reason });
});

describe("defaultAction", () => {
  test.each<[Reading<"defaultAction">, unknown]>([
    ["null", null],
    ["url", expect.objectContaining({ url: expect.stringMatching(/^http/) })],
  ])("%s is what the cards of the menu have", async (defaultAction, expected) => {
    const scene = await startScene({ defaultAction, flow: "menu" });
    await press(scene.acme, "x", "carousel");
    const [delivery] = await waitForDeliveries(scene, 1);
    const { content_attributes } = JSON.parse(delivery?.body ?? "") as OutboundGenericTemplate;
    const actions = content_attributes.items.map(({ default_action }) => default_action);
    expect(actions).toEqual([expected, expected, expected]);
  });
});
