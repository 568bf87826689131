import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { CallOptions } from "../../../provider/client/index.js";
import { gateOf } from "../../../provider/client/operation.js";
import { CALLS_PER_ORIGIN } from "../../../provider/lib/post.js";
import { startDeafListener, startServer } from "../../support/http.js";
import { answerOk, CALLS, createTestClient, failureOf } from "./harness.js";

describe.concurrent.each(CALLS)("the time limit of %s", (operation, call) => {
  const hintsOf = (sent: boolean): { id: string }[] => [
    ...(operation === "message" ? [{ id: sent ? "message_may_be_taken" : "message_not_sent" }] : []),
    { id: "raise_request_seconds" },
  ];

  test("ends a call that the service never answers", async () => {
    const { url, requests } = await startServer(() => undefined);
    const begun = performance.now();
    const error = await failureOf(call(url, { requestSeconds: 1 }));
    expect(error).toMatchObject({ code: "timeout", operation, attempts: 1, hints: hintsOf(true) });
    expect(error.message).toContain("no answer within 1 s");
    expect(performance.now() - begun).toBeGreaterThanOrEqual(990);
    expect(requests).toHaveLength(1);
  });

  test("ends a connection that cannot be made", async () => {
    const error = await failureOf(call(await startDeafListener(), { requestSeconds: 0.5 }));
    expect(error).toMatchObject({ code: "timeout", attempts: 1, hints: hintsOf(false) });
  });

  test("is one for all attempts together", async () => {
    const { url, requests } = await startServer((_, response, index) =>
      index < 2 ? response.writeHead(503).end() : undefined,
    );
    expect(await failureOf(call(url, { requestSeconds: 4 }))).toMatchObject({ code: "timeout", attempts: 3 });
    expect(requests).toHaveLength(3);
  });
});

describe.concurrent("the time limit", () => {
  test("ends a body that never ends", async () => {
    const { url } = await startServer((_, response) =>
      response.writeHead(200, { "content-length": 1000 }).write('{"status":"ok"'),
    );
    const error = await failureOf(createTestClient(url, { requestSeconds: 0.3 }).getWebhook());
    expect(error).toMatchObject({ code: "timeout", attempts: 1 });
  });

  test("does not count the wait for a permit", async () => {
    const { url } = await startServer((_, response) => setTimeout(() => answerOk(response), 600));
    const client = createTestClient(url, { requestSeconds: 3 });
    // Eight at once: the last of 48 waits for three seconds, and has its own three seconds then.
    const answers = await Promise.all(Array.from({ length: 48 }, () => client.getWebhook()));
    expect(answers.every((answer) => answer?.status === "verified")).toBe(true);
  });
});

const reason = new Error("enough");
const owners = ["the client's", "the call's"] as const;

describe.concurrent.each(CALLS)("a signal ends %s with its reason:", (_, call) => {
  const start = (owner: string, origin: string, signal: AbortSignal, more = {}): Promise<unknown> => {
    const own: CallOptions = { signal };
    return owner === "the call's" ? call(origin, more, own) : call(origin, { ...more, ...own });
  };

  test.each(owners)("%s, while the answer is awaited", async (owner) => {
    const arrived = Promise.withResolvers<void>();
    const { url } = await startServer(() => arrived.resolve());
    const controller = new AbortController();
    const ended = start(owner, url, controller.signal);
    await arrived.promise;
    controller.abort(reason);
    await expect(ended).rejects.toBe(reason);
  });

  test.each([503, 429])(
    "in the pause after a %i, of this call and of one that waits for it",
    async (status) => {
      const { url } = await startServer((_request, response) =>
        response.writeHead(status, { "retry-after": "300" }).end(),
      );
      const controller = new AbortController();
      const paused = Promise.withResolvers<void>();
      // The pause is longer than the time limit of a test.
      const options = { requestSeconds: 600, onRetry: () => paused.resolve() };
      const ended = [start("the client's", url, controller.signal, options)];
      await paused.promise;
      ended.push(start("the call's", url, controller.signal, options));
      controller.abort(reason);
      for (const one of ended) await expect(one).rejects.toBe(reason);
    },
  );

  test.each(owners)("%s, fired already: nothing is sent", async (owner) => {
    const { url, requests } = await startServer();
    await expect(start(owner, url, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(requests).toEqual([]);
  });
});

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

  test("ends a pause in its time although somebody sets the clock back", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const gate = newGate();
    gate.pause(50);
    vi.setSystemTime(Date.now() - 3_600_000);
    const acquired = gate.acquire(AbortSignal.timeout(5_000));
    await expect(acquired).resolves.toBeTypeOf("function");
  });

  test("is one for each origin", () => {
    expect(gateOf("test://one")).toBe(gateOf("test://one"));
    expect(gateOf("test://one")).not.toBe(gateOf("test://two"));
  });
});
