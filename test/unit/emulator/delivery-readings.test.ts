import { describe, expect, test } from "vitest";
import type { EmulatorOptions, Workspace } from "../../../provider/emulator/index.js";
import type { OutboundMessage, OutboundGenericTemplate } from "../../../schema/index.js";
import { verifySignature } from "../../../provider/responder/index.js";
import { samples } from "../../../tools/schema/samples.ts";
import { startScene } from "./delivery-harness.js";
import { answerChallenge, set, startAcme, startEndpoint, verificationKey, type Endpoint } from "./harness.js";
import { operations, sendTo } from "./messages-harness.js";

type Reading<Name extends keyof EmulatorOptions> = NonNullable<EmulatorOptions[Name]>;

const message = { ...samples.OutboundText, text: "Olá/👋" } as OutboundMessage;

/** A registered workspace whose endpoint answers deliveries with these statuses, one after the other; 0 is silence. */
async function startAnswering(
  statuses: number[],
  options: EmulatorOptions = {},
): Promise<{ acme: Workspace; endpoint: Endpoint; deliveries: () => Endpoint["received"] }> {
  const { acme } = await startAcme(options);
  const endpoint = await startEndpoint((request, response) => {
    if (request.headers["x-action"] === undefined) return answerChallenge(request, response);
    const status = statuses.shift() ?? 200;
    if (status !== 0) response.writeHead(status).end("taken");
  });
  await set(acme, endpoint.url);
  return { acme, endpoint, deliveries: () => endpoint.received.slice(1) };
}

describe("deliveryWhile", () => {
  /** A workspace whose handshake failed, and was registered nevertheless. */
  const unverified: EmulatorOptions = {
    failedHandshake: "unverified",
    faults: [{ operation: "handshake", fault: { status: 500 } }],
  };

  test("verified delivers nothing to a webhook whose handshake failed, until it is verified", async () => {
    const { acme, deliveries } = await startScene(unverified);
    expect(acme.registration?.webhook_status).toBe("failed");
    expect((await sendTo(acme, operations["send text message"])).status).toBe(200);
    await expect.poll(() => acme.conversations[0]?.messages).toHaveLength(2);
    expect(acme.conversations[0]?.messages[1]).toMatchObject({ from: "flow", delivery: null });
    await expect(acme.deliver(message)).rejects.toMatchObject({ code: "invalid_config" });
    acme.change({ webhook_status: "verified" });
    expect(await acme.deliver(message)).toMatchObject({ verdict: "delivered" });
    expect(deliveries().map(({ body }) => JSON.parse(body) as unknown)).toEqual([message]);
  });

  test("verified ends the tries of a delivery whose webhook is verified no longer", async () => {
    const { acme, deliveries } = await startScene(
      { deliveryAttempts: 3, deliveryRetryMs: 1 },
      (_, response) => {
        acme.change({ webhook_status: "failed" });
        response.writeHead(500).end();
      },
    );
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
    const { acme } = await startAnswering([status], { deliveryAnswer });
    expect(await acme.deliver(message)).toMatchObject({ verdict, status });
  });
});

describe("deliveryEncoding", () => {
  test.each<[Reading<"deliveryEncoding">, string]>([
    ["json", '"text":"Olá/👋"'],
    ["php", String.raw`"text":"Ol\u00e1\/\ud83d\udc4b"`],
  ])("%s writes slashes and accents its way, and signs what it wrote", async (deliveryEncoding, written) => {
    const { acme, deliveries } = await startAnswering([], { deliveryEncoding });
    await acme.deliver(message);
    const [delivery] = deliveries();
    const body = delivery?.body ?? "";
    expect(body).toContain(written);
    expect(JSON.parse(body)).toEqual(message);
    const signature = delivery?.headers["x-hub-signature-256"];
    expect(await verifySignature({ verificationKeys: verificationKey, body, signature })).toBe(true);
  });
});

describe("deliveryAttempts and deliveryRetryMs", () => {
  test("try a delivery once by default", async () => {
    const { acme, deliveries } = await startAnswering([500]);
    expect(await acme.deliver(message)).toMatchObject({ verdict: "failed", reason: "answered HTTP 500" });
    expect(deliveries()).toHaveLength(1);
  });

  test("tries a delivery that failed so often, with a pause that doubles", async () => {
    const { acme, deliveries } = await startAnswering([500, 0, 503], {
      deliveryAttempts: 4,
      deliveryRetryMs: 50,
      deliveryTimeoutMs: 200,
    });
    const delivery = await acme.deliver(message);
    expect(delivery.verdict).toBe("delivered");
    expect(delivery.attempts.map(({ reason }) => reason)).toEqual([
      "answered HTTP 500",
      "no answer within 200 ms",
      "answered HTTP 503",
      "",
    ]);
    const begun = delivery.attempts.map(
      ({ at, durationMs }) => [Date.parse(at), Date.parse(at) + durationMs] as const,
    );
    const pauses = begun.slice(1).map(([at], index) => at - (begun[index]?.[1] ?? 0));
    for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(50 * 2 ** index - 5);
    expect(new Set(deliveries().map(({ body }) => body)).size).toBe(1);
  });

  test("give up after the last", async () => {
    const { acme, deliveries } = await startAnswering([500, 500, 500], {
      deliveryAttempts: 2,
      deliveryRetryMs: 1,
    });
    expect(await acme.deliver(message)).toMatchObject({ verdict: "failed" });
    expect(deliveries()).toHaveLength(2);
  });
});

describe("deliveryTimeoutMs", () => {
  test("ends a try that is not answered", async () => {
    const { acme } = await startAnswering([0], { deliveryTimeoutMs: 50 });
    expect(await acme.deliver(message)).toMatchObject({
      verdict: "failed",
      reason: "no answer within 50 ms",
    });
  });
});

describe("defaultAction", () => {
  test.each<[Reading<"defaultAction">, unknown]>([
    ["null", null],
    ["url", expect.objectContaining({ url: expect.stringMatching(/^http/) })],
  ])("%s is what the cards of the menu have", async (defaultAction, expected) => {
    const { acme, deliveries } = await startAnswering([], { defaultAction, flow: "menu" });
    const press = {
      ...operations["send button payload"],
      submitted_values: [{ title: "x", payload: "carousel" }],
    };
    expect((await sendTo(acme, press)).status).toBe(200);
    await expect.poll(() => deliveries()).toHaveLength(1);
    const { content_attributes } = JSON.parse(deliveries()[0]?.body ?? "") as OutboundGenericTemplate;
    expect(content_attributes.items.length).toBeGreaterThan(1);
    expect(content_attributes.items.map(({ default_action }) => default_action)).toEqual(
      content_attributes.items.map(() => expected),
    );
  });
});
