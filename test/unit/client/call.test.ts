import { describe, expect, test } from "vitest";
import type { CallOptions } from "../../../provider/client/index.js";
import { startDeafListener, startServer } from "../../support/http.js";
import { answerOk, CALLS, createTestClient, failureOf } from "./harness.js";

describe.concurrent.each(CALLS)("the time limit of %s", (operation, call) => {
  const hintsOf = (sent: boolean): { id: string }[] => [
    ...(operation === "message" ? [{ id: sent ? "message_may_be_taken" : "message_not_sent" }] : []),
    { id: "raise_request_seconds" },
  ];

  test("ends a call that gets no response", async () => {
    const { url, requests } = await startServer(() => undefined);
    const begun = performance.now();
    const error = await failureOf(call(url, { requestSeconds: 1 }));
    expect(error).toMatchObject({ code: "timeout", operation, attempts: 1, hints: hintsOf(true) });
    expect(error.message).toContain("no response within 1 s");
    expect(performance.now() - begun).toBeGreaterThanOrEqual(990);
    expect(requests).toHaveLength(1);
  });

  test("ends an attempt to connect", async () => {
    const error = await failureOf(call(await startDeafListener(), { requestSeconds: 0.5 }));
    expect(error).toMatchObject({ code: "timeout", attempts: 1, hints: hintsOf(false) });
  });

  test("applies to all attempts together", async () => {
    const { url, requests } = await startServer((_, response, index) =>
      index < 2 ? response.writeHead(503).end() : undefined,
    );
    expect(await failureOf(call(url, { requestSeconds: 4 }))).toMatchObject({ code: "timeout", attempts: 3 });
    expect(requests).toHaveLength(3);
  });
});

test("the time limit ends a call whose response is incomplete", async () => {
  const { url } = await startServer((_, response) =>
    response.writeHead(200, { "content-length": 1000 }).write('{"status":"ok"'),
  );
  const error = await failureOf(createTestClient(url, { requestSeconds: 0.3 }).getWebhook());
  expect(error).toMatchObject({ code: "timeout", attempts: 1 });
});

const reason = new Error("enough");
const owners = ["the client's", "the call's"] as const;

describe.concurrent.each(CALLS)("an aborted signal makes %s throw the signal's reason", (_, call) => {
  const start = (owner: string, origin: string, signal: AbortSignal, more = {}): Promise<unknown> => {
    const own: CallOptions = { signal };
    return owner === "the call's" ? call(origin, more, own) : call(origin, { ...more, ...own });
  };

  test.each(owners)("while it waits for the response: %s signal", async (owner) => {
    const arrived = Promise.withResolvers<void>();
    const { url } = await startServer(() => arrived.resolve());
    const controller = new AbortController();
    const ended = start(owner, url, controller.signal);
    await arrived.promise;
    controller.abort(reason);
    await expect(ended).rejects.toBe(reason);
  });

  test.each([503, 429])("during the pause after a %i, for all calls that share the pause", async (status) => {
    const { url } = await startServer((_request, response) =>
      response.writeHead(status, { "retry-after": "300" }).end(),
    );
    const controller = new AbortController();
    const paused = Promise.withResolvers<void>();
    // The pause of 300 s exceeds a test's time limit, so the test passes only if the signal ends the pause.
    const options = { requestSeconds: 600, onRetry: () => paused.resolve() };
    const ended = [start("the client's", url, controller.signal, options)];
    await paused.promise;
    ended.push(start("the call's", url, controller.signal, options));
    controller.abort(reason);
    for (const one of ended) await expect(one).rejects.toBe(reason);
  });

  test.each(owners)("before it sends anything: %s signal, already aborted", async (owner) => {
    const { url, requests } = await startServer();
    await expect(start(owner, url, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(requests).toEqual([]);
  });
});

test("calls to one origin run concurrently, and only the engine's --parallel limits their number", async () => {
  const waiting: (() => void)[] = [];
  const { url, requests } = await startServer((_, response) => waiting.push(() => answerOk(response)));
  const calls = Array.from({ length: 64 }, (_, n) => createTestClient(`${url}/w${n}`).getWebhook());
  await expect.poll(() => requests.length, { interval: 5 }).toBe(64);
  for (const answer of waiting) answer();
  await Promise.all(calls);
});
