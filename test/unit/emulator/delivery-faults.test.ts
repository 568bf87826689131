import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { EmulatorOptions, Fault, FaultView } from "../../../provider/emulator/index.js";
import { startTcpServer } from "../../support/http.js";
import { control, judge, outbound, startAcme, startScene, verificationKey, type Scene } from "./harness.js";

/** A delivery that gets a fault. */
async function deliverWithFault(fault: Fault, options: EmulatorOptions = {}) {
  const scene = await startScene(options);
  scene.emulator.injectFault({ operation: "delivery", fault });
  const matched = await scene.acme.deliver(outbound("matched"));
  return { ...scene, matched };
}

const deliverAll = ({ acme }: Scene, texts: string[]): Promise<unknown> =>
  Promise.all(texts.map((text) => acme.deliver(outbound(text))));

const listFaults = async ({ emulator }: Scene): Promise<FaultView[]> =>
  (await control(emulator, "GET /_emulator/faults")).body as FaultView[];

describe("a fault of a delivery", () => {
  test.each<[Fault, number, RegExp]>([
    [{ status: 503 }, 0, /HTTP 503/],
    [{ status: 503, afterChange: true }, 1, /HTTP 503/],
    ["close-before", 0, /connection was closed/],
    ["close-after", 1, /connection was closed/],
  ])("%j makes it fail, %i sent, and the next is delivered", async (fault, sent, reason) => {
    const { matched, acme, deliveries } = await deliverWithFault(fault);
    expect(matched).toMatchObject({ verdict: "failed", reason: expect.stringMatching(reason) });
    expect(matched.attempts).toMatchObject([{ fault: JSON.stringify(fault) }]);
    expect(deliveries()).toHaveLength(sent);
    const next = await acme.deliver(outbound("next"));
    expect(next).toMatchObject({ verdict: "delivered", attempts: [{ fault: "" }] });
  });

  test("is that of one try: the next one has none", async () => {
    const options = { deliveryAttempts: 2, deliveryRetryMs: 1 };
    const { matched, deliveries } = await deliverWithFault("close-after", options);
    const attempts = [{ fault: '"close-after"' }, { fault: "", reason: "" }];
    expect(matched).toMatchObject({ verdict: "delivered", attempts });
    expect(deliveries()).toHaveLength(2);
  });

  test("wrong-signature is refused by a receiver that checks", async () => {
    const { matched, deliveries, acme } = await deliverWithFault("wrong-signature");
    expect(matched.signature).toBe("wrong");
    expect(deliveries()[0]?.headers["x-hub-signature-256"]).toMatch(/^sha256=[0-9a-f]{64}$/);
    expect((await acme.deliver(outbound("next"))).signature).toBe("right");
    expect(await Promise.all(deliveries().map((delivery) => judge(delivery)))).toEqual([401, 200]);
  });

  test("{ delayMs } sends it late, and those behind it", async () => {
    const scene = await startScene();
    scene.emulator.injectFault({ operation: "delivery", fault: { delayMs: 100 } });
    const begun = performance.now();
    await deliverAll(scene, ["late", "behind"]);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(95);
    expect(scene.texts()).toEqual(["late", "behind"]);
  });

  test("{ delayMs, afterChange } beyond the time limit is sent, and not heard of", async () => {
    const fault = { delayMs: 60_000, afterChange: true };
    const { matched, deliveries } = await deliverWithFault(fault, { deliveryTimeoutMs: 50 });
    expect(matched).toMatchObject({ verdict: "failed", reason: "no answer within 50 ms" });
    expect(deliveries()).toHaveLength(1);
  });

  test("broken-json lacks its end, and has the signature of the whole", async () => {
    const { matched, deliveries } = await deliverWithFault("broken-json");
    expect(deliveries()[0]?.body).toBe(matched.sent.body.slice(0, -4));
    expect(await judge(deliveries()[0])).toBe(401);
    expect(matched.signature).toBe("right");
  });

  test("truncated ends the connection in the middle of the body", async () => {
    const { promise: heard, resolve } = Promise.withResolvers<string>();
    const { url } = await startTcpServer(async (socket) => resolve((await buffer(socket)).toString()));
    const { emulator, acme } = await startAcme();
    acme.takeOver({ webhook_url: url, webhook_verification_key: verificationKey });
    emulator.injectFault({ operation: "delivery", fault: "truncated" });
    const matched = await acme.deliver(outbound("in the middle"));
    expect(matched).toMatchObject({ verdict: "failed", reason: "no answer: the connection was closed" });
    const [head = "", body = ""] = (await heard).split("\r\n\r\n");
    expect(head).toMatch(new RegExp(`content-length: ${matched.sent.body.length}\\b`, "i"));
    expect(body).toBe(matched.sent.body.slice(0, Math.floor(matched.sent.body.length / 2)));
  });

  test("duplicate sends it twice, as two deliveries of the same bytes", async () => {
    const { matched, acme, deliveries } = await deliverWithFault("duplicate");
    expect(deliveries()).toHaveLength(2);
    expect(deliveries()[1]?.body).toBe(deliveries()[0]?.body);
    expect(await judge(deliveries()[1])).toBe(200);
    expect(acme.deliveries).toMatchObject([
      { id: matched.id, verdict: "delivered" },
      { resendOf: matched.id, verdict: "delivered" },
    ]);
  });

  test.each([
    ["lets the next of its conversation go first", 1, ["a", "b", "c"], ["b", "a", "c"]],
    ["without end swaps each pair", Infinity, ["a", "b", "c", "d"], ["b", "a", "d", "c"]],
    ["with nothing behind it sends it alone", 1, ["a"], ["a"]],
  ])("reorder %s", async (_what, times, sent, arrived) => {
    const scene = await startScene();
    scene.emulator.injectFault({ operation: "delivery", times, fault: "reorder" });
    await deliverAll(scene, sent);
    expect(scene.texts()).toEqual(arrived);
  });

  test("reorder waits for the next, which may come later", async () => {
    const scene = await startScene();
    scene.emulator.injectFault({ operation: "delivery", fault: "reorder" });
    const first = scene.acme.deliver(outbound("a"));
    // Its turn comes, and gets the fault.
    await expect.poll(() => listFaults(scene)).toMatchObject([{ left: 0 }]);
    await Promise.all([first, scene.acme.deliver(outbound("b"))]);
    expect(scene.texts()).toEqual(["b", "a"]);
  });

  test("is counted by its rule, and by the first that matches only", async () => {
    const scene = await startScene();
    for (const times of [2, Infinity]) {
      scene.emulator.injectFault({ operation: "delivery", times, fault: "close-before" });
    }
    await scene.acme.deliver(outbound("matched"));
    const rule = { operation: "delivery", fault: "close-before" };
    expect(await listFaults(scene)).toMatchObject([
      { ...rule, left: 1, matched: 1, times: 2 },
      { ...rule, left: null, matched: 0 },
    ]);
  });
});
