import { createServer, type AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Fault, FaultRule } from "../../../provider/emulator/index.js";
import { call, startAcme, verificationKey } from "./harness.js";
import { judge, outbound, startScene, waitForDeliveries, type Scene } from "./delivery-harness.js";

/** What strikes the next delivery, and a delivery. */
async function deliverWithFault(fault: Fault, options = {}) {
  const scene = await startScene(options);
  scene.emulator.injectFault({ operation: "delivery", fault });
  const matched = await scene.acme.deliver(outbound("matched"));
  return { ...scene, matched };
}

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
    expect(await judge(deliveries()[0])).toBe(401);
    expect((await acme.deliver(outbound("next"))).signature).toBe("right");
    expect(await judge(deliveries()[1])).toBe(200);
  });

  test("{ delayMs } sends it late, and those behind it", async () => {
    const scene = await startScene();
    scene.emulator.injectFault({ operation: "delivery", fault: { delayMs: 100 } });
    const begun = performance.now();
    const [late] = await Promise.all([
      scene.acme.deliver(outbound("late")),
      scene.acme.deliver(outbound("behind")),
    ]);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(95);
    expect(late.verdict).toBe("delivered");
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
    const whole = matched.sent.body;
    expect(deliveries()[0]?.body).toBe(whole.slice(0, -4));
    expect(await judge(deliveries()[0])).toBe(401);
    expect(matched.signature).toBe("right");
  });

  test("truncated ends the connection in the middle of the body", async () => {
    const { url, heard } = await listenRaw();
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

  test("reorder lets the next of its conversation go first", async () => {
    const scene = await startScene();
    scene.emulator.injectFault({ operation: "delivery", fault: "reorder" });
    await deliverAll(scene, ["a", "b", "c"]);
    expect(scene.texts()).toEqual(["b", "a", "c"]);
  });

  test("reorder without end swaps each pair", async () => {
    const scene = await startScene();
    scene.emulator.injectFault({ operation: "delivery", times: Infinity, fault: "reorder" });
    await deliverAll(scene, ["a", "b", "c", "d"]);
    expect(scene.texts()).toEqual(["b", "a", "d", "c"]);
  });

  test("reorder waits for the next, which may come later", async () => {
    const scene = await startScene();
    scene.emulator.injectFault({ operation: "delivery", fault: "reorder" });
    const first = scene.acme.deliver(outbound("a"));
    // Its turn comes, and gets the fault.
    await expect.poll(() => left(scene)).toBe(0);
    await Promise.all([first, scene.acme.deliver(outbound("b"))]);
    expect(scene.texts()).toEqual(["b", "a"]);
  });

  test("reorder with nothing behind it sends it alone", async () => {
    const { matched, texts } = await deliverWithFault("reorder");
    expect(matched.verdict).toBe("delivered");
    expect(texts()).toEqual(["matched"]);
  });
});

async function deliverAll(scene: Scene, texts: string[]): Promise<void> {
  await Promise.all(texts.map((text) => scene.acme.deliver(outbound(text))));
  await waitForDeliveries(scene, texts.length);
}

interface ShownFault {
  id: string;
  left: number | null;
  matched: number;
}

async function listFaults({ emulator }: Scene): Promise<ShownFault[]> {
  return (await fetch(`${emulator.url}/_emulator/faults`)).json() as Promise<ShownFault[]>;
}

async function left(scene: Scene): Promise<number | null | undefined> {
  return (await listFaults(scene))[0]?.left;
}

/** A listener that takes one connection's bytes, whatever they are. */
async function listenRaw(): Promise<{ url: string; heard: Promise<string> }> {
  const { promise: heard, resolve } = Promise.withResolvers<string>();
  const server = createServer((socket) => {
    let text = "";
    socket.on("data", (bytes) => (text += bytes.toString()));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(text));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => new Promise<void>((closed) => server.close(() => closed())));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, heard };
}

/** Which of 40 calls a rule strikes. */
async function strike(rule: Partial<FaultRule>): Promise<boolean[]> {
  const { emulator, acme } = await startAcme();
  emulator.injectFault({ operation: "get-webhook", fault: { status: 503 }, ...rule });
  const matched: boolean[] = [];
  for (let n = 0; n < 40; n += 1) matched.push((await call(acme, "get-webhook")).status === 503);
  return matched;
}

describe("a rule with a probability", () => {
  test("strikes some calls, the same with the same seed and others with another", async () => {
    const first = await strike({ probability: 0.5, seed: 7 });
    expect(first).toContain(true);
    expect(first).toContain(false);
    expect(await strike({ probability: 0.5, seed: 7 })).toEqual(first);
    expect(await strike({ probability: 0.5, seed: 8 })).not.toEqual(first);
  });

  test("has a seed of its own where none is given", async () => {
    expect(await strike({ probability: 0.3 })).toEqual(await strike({ probability: 0.3, seed: 1 }));
  });

  test("strikes never with 0, always with 1, and `times` ends it", async () => {
    expect(await strike({ probability: 0 })).not.toContain(true);
    expect(await strike({ probability: 1 })).not.toContain(false);
    const ended = await strike({ probability: 0.5, times: 2 });
    expect(ended.filter(Boolean)).toHaveLength(2);
  });
});

describe("a rule", () => {
  test.each<[FaultRule, RegExp]>([
    [{ operation: "get-webhook", fault: "wrong-signature" }, /'wrong-signature' is a fault of the operation/],
    [{ operation: "message", fault: "reorder" }, /fault: 'reorder' .* not of message/],
    [{ operation: "handshake", fault: "duplicate" }, /not of handshake/],
    [{ operation: "delivery", fault: "html" }, /'html' is a fault of answers/],
    [{ operation: "delivery", fault: { statusField: "x" } }, /\{ statusField \} is a fault of answers/],
    [{ operation: "delivery", fault: "close-after", probability: 1.5 }, /probability/],
    [{ operation: "delivery", fault: "close-after", seed: 0.5 }, /seed/],
  ])("that cannot be is refused by name: %j", async (rule, named) => {
    const { emulator } = await startAcme();
    expect(() => emulator.injectFault(rule)).toThrow(
      expect.objectContaining({ code: "invalid_config", message: expect.stringMatching(named) }),
    );
  });

  test("has an id to be removed by, and counts what it matched", async () => {
    const scene = await startScene();
    for (const times of [2, Infinity]) {
      scene.emulator.injectFault({ operation: "delivery", times, fault: "close-before" });
    }
    await scene.acme.deliver(outbound("matched"));
    const [first, second] = await listFaults(scene);
    expect([first, second]).toMatchObject([
      { left: 1, matched: 1, times: 2, operation: "delivery", fault: "close-before" },
      { left: null, matched: 0 },
    ]);
    expect(first?.id).not.toBe(second?.id);
    await fetch(`${scene.emulator.url}/_emulator/faults/${first?.id}`, { method: "DELETE" });
    expect(await listFaults(scene)).toEqual([second]);
  });
});
