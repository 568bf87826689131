import { describe, expect, test } from "vitest";
import { gateOf } from "../../../provider/client/origin-gate.js";
import { CALLS_PER_ORIGIN } from "../../../provider/lib/post.js";
import { answerOk, createAgent, createTestClient, startServer } from "./harness.js";

/** A server that counts how many of its answers are outstanding, and the most there were. */
async function startCountingServer(answerMs: number): Promise<{ origin: string; most: () => number }> {
  let now = 0;
  let most = 0;
  const { origin } = await startServer((_, response) => {
    now += 1;
    most = Math.max(most, now);
    setTimeout(() => {
      now -= 1;
      answerOk(response);
    }, answerMs);
  });
  return { origin, most: () => most };
}

describe("calls to one origin", () => {
  test("are eight at once, and never more, over several clients and dispatchers", async () => {
    const { origin, most } = await startCountingServer(20);
    const clients = Array.from({ length: 5 }, (_, n) =>
      createTestClient(`${origin}/w${n}`, { dispatcher: createAgent() }),
    );
    await Promise.all(clients.flatMap((client) => Array.from({ length: 10 }, () => client.getWebhook())));
    expect(CALLS_PER_ORIGIN).toBe(8);
    expect(most()).toBe(8);
  });

  test("do not hold back those to another", async () => {
    const { origin: hanging } = await startServer(() => undefined);
    const { origin } = await startServer((_, response) => answerOk(response));
    const controller = new AbortController();
    const stuck = createTestClient(hanging, { signal: controller.signal });
    const waiting = Promise.allSettled(Array.from({ length: 20 }, () => stuck.getWebhook()));
    await createTestClient(origin).getWebhook();
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
    const releases = await Promise.all(Array.from({ length: 8 }, () => gate.acquire()));
    const controller = new AbortController();
    const gaveUp = Array.from({ length: 8 }, () => gate.acquire(controller.signal));
    const patient = Array.from({ length: 8 }, () => gate.acquire());
    controller.abort(new Error("gave up"));
    for (const call of gaveUp) await expect(call).rejects.toThrow("gave up");
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
