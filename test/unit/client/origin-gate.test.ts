import { describe, expect, onTestFinished, test, vi } from "vitest";
import { gateOf } from "../../../provider/client/origin-gate.js";
import { CALLS_PER_ORIGIN } from "../../../provider/lib/post.js";
import { startServer } from "../../support/http.js";
import { answerOk, createTestClient } from "./harness.js";

describe("calls to one origin", () => {
  test("are eight at once, and never more, over several clients and dispatchers", async () => {
    const waiting: (() => void)[] = [];
    const { url, requests } = await startServer((_, response) => waiting.push(() => answerOk(response)));
    const calls = Array.from({ length: 24 }, (_, n) => createTestClient(`${url}/w${n % 5}`).getWebhook());
    expect(CALLS_PER_ORIGIN).toBe(8);
    for (let answered = 0; answered < 24; answered += 1) {
      await expect.poll(() => requests.length, { interval: 5 }).toBe(Math.min(answered + 8, 24));
      waiting[answered]?.();
    }
    await Promise.all(calls);
  });

  test("do not hold back those to another", async () => {
    const { url: hanging } = await startServer(() => undefined);
    const { url } = await startServer((_, response) => answerOk(response));
    const controller = new AbortController();
    const stuck = createTestClient(hanging, { signal: controller.signal });
    const waiting = Promise.allSettled(Array.from({ length: 20 }, () => stuck.getWebhook()));
    await createTestClient(url).getWebhook();
    controller.abort(new Error("done"));
    expect((await waiting).every(({ status }) => status === "rejected")).toBe(true);
  });
});

describe("a gate", () => {
  let origins = 0;
  const newGate = (): ReturnType<typeof gateOf> => gateOf(`test://${(origins += 1)}`);

  test("lets calls in by the order of their coming", async () => {
    const gate = newGate();
    const order: number[] = [];
    const calls = Array.from({ length: 20 }, async (_, n) => {
      const release = await gate.acquire();
      order.push(n);
      release();
    });
    await Promise.all(calls);
    expect(order).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  test("loses no permit to calls that gave up waiting", async () => {
    const gate = newGate();
    const acquireEight = (signal?: AbortSignal) => Array.from({ length: 8 }, () => gate.acquire(signal));
    const releases = await Promise.all(acquireEight());
    const controller = new AbortController();
    const gaveUp = Promise.allSettled(acquireEight(controller.signal));
    const patient = acquireEight();
    const reason = new Error("gave up");
    controller.abort(reason);
    expect(await gaveUp).toEqual(patient.map(() => ({ status: "rejected", reason })));
    for (const release of releases) release();
    expect(await Promise.all(patient)).toHaveLength(8);
  });

  test("releases the permit of a call that gave up in a pause", async () => {
    const gate = newGate();
    gate.pause(60_000);
    const controller = new AbortController();
    const paused = Array.from({ length: 8 }, () => gate.acquire(controller.signal));
    const patient = gate.acquire(AbortSignal.abort(new Error("no time")));
    controller.abort(new Error("gave up"));
    for (const call of paused) await expect(call).rejects.toThrow("gave up");
    await expect(patient).rejects.toThrow("no time");
  });

  test("is one for each origin", () => {
    expect(gateOf("test://one")).toBe(gateOf("test://one"));
    expect(gateOf("test://one")).not.toBe(gateOf("test://two"));
  });
});

test.each([
  [undefined, 8],
  ["3", 3],
  ["0", 1],
  ["many", 8],
])("the environment bounds the calls of this process: %j gives %i", async (given, expected) => {
  vi.stubEnv("APICHAT_CALLS_PER_ORIGIN", given);
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.resetModules();
  const post = await import("../../../provider/lib/post.js");
  expect(post.CALLS_PER_ORIGIN).toBe(expected);
});
