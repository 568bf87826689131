import { describe, expect, test } from "vitest";
import type { CallOptions, RegistrationClientOptions } from "../../../provider/client/index.js";
import { answerOk, createTestClient, failureOf, startDeafListener, startServer } from "./harness.js";

describe.concurrent("the time limit", () => {
  test("ends a call that the service never answers", async () => {
    const { origin, received } = await startServer(() => undefined);
    const begun = performance.now();
    const error = await failureOf(createTestClient(origin, { requestSeconds: 1 }).getWebhook());
    expect(error).toMatchObject({ code: "timeout", operation: "get-webhook", attempts: 1 });
    expect(error.message).toContain("no answer within 1 s");
    expect(error.hints).toEqual([{ id: "raise_request_seconds" }]);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(990);
    expect(received).toHaveLength(1);
  });

  test("ends a body that never ends", async () => {
    const { origin } = await startServer((_, response) => {
      response.writeHead(200, { "content-length": 1000 }).write('{"status":"ok"');
    });
    const error = await failureOf(createTestClient(origin, { requestSeconds: 0.3 }).getWebhook());
    expect(error).toMatchObject({ code: "timeout", attempts: 1 });
  });

  test("is one for all attempts together", async () => {
    const { origin, received } = await startServer((_, response, index) =>
      index < 2 ? response.writeHead(503).end() : undefined,
    );
    const error = await failureOf(createTestClient(origin, { requestSeconds: 4 }).getWebhook());
    expect(error).toMatchObject({ code: "timeout", attempts: 3 });
    expect(received).toHaveLength(3);
  });

  test("does not count the wait for a permit", async () => {
    const { origin } = await startServer((_, response) => setTimeout(() => answerOk(response), 600));
    const client = createTestClient(origin, { requestSeconds: 3 });
    // Eight at once: the last of 48 waits for three seconds, and has its own three seconds then.
    const answers = await Promise.all(Array.from({ length: 48 }, () => client.getWebhook()));
    expect(answers.every((answer) => answer?.status === "verified")).toBe(true);
  });

  test("ends a connection that cannot be made", async () => {
    const client = createTestClient(await startDeafListener(), { requestSeconds: 0.5 });
    expect(await failureOf(client.getWebhook())).toMatchObject({ code: "timeout", attempts: 1 });
  });
});

describe.concurrent("an abort signal", () => {
  const reason = new Error("enough");

  /** Starts a call that the signal ends, whether it is the client's or the call's. */
  const owners: [string, (signal: AbortSignal) => [Partial<RegistrationClientOptions>, CallOptions]][] = [
    ["the client's", (signal) => [{ signal }, {}]],
    ["the call's", (signal) => [{}, { signal }]],
  ];

  describe.each(owners)("of %s", (_, give) => {
    test("ends a call in progress with its reason", async () => {
      const { promise: arrived, resolve } = Promise.withResolvers<void>();
      const { origin } = await startServer(() => resolve());
      const controller = new AbortController();
      const [clientOptions, callOptions] = give(controller.signal);
      const call = createTestClient(origin, clientOptions).getWebhook(callOptions);
      await arrived;
      controller.abort(reason);
      await expect(call).rejects.toBe(reason);
    });

    test("ends the pause between two attempts", async () => {
      const { origin, received } = await startServer((_request, response) =>
        response.writeHead(503, { "retry-after": "300" }).end(),
      );
      const controller = new AbortController();
      const [clientOptions, callOptions] = give(controller.signal);
      const paused = Promise.withResolvers<void>();
      const options = { requestSeconds: 600, onRetry: () => paused.resolve(), ...clientOptions };
      const call = createTestClient(origin, options).getWebhook(callOptions);
      await paused.promise;
      // The pause is longer than the time limit of a test.
      controller.abort(reason);
      await expect(call).rejects.toBe(reason);
      expect(received).toHaveLength(1);
    });

    test("that has fired already lets nothing be sent", async () => {
      const { origin, received } = await startServer((_request, response) => answerOk(response));
      const [clientOptions, callOptions] = give(AbortSignal.abort(reason));
      await expect(createTestClient(origin, clientOptions).getWebhook(callOptions)).rejects.toBe(reason);
      expect(received).toEqual([]);
    });
  });

  test("ends the wait for a pause that a 429 asked for", async () => {
    const { origin } = await startServer((_, response) =>
      response.writeHead(429, { "retry-after": "300" }).end(),
    );
    const controller = new AbortController();
    const paused = Promise.withResolvers<void>();
    const options = { requestSeconds: 600, signal: controller.signal, onRetry: () => paused.resolve() };
    const calls = [createTestClient(origin, options).getWebhook()];
    await paused.promise;
    calls.push(createTestClient(origin, options).getWebhook());
    controller.abort(reason);
    for (const call of calls) await expect(call).rejects.toBe(reason);
  });

  test("of a time limit rejects with that limit's reason", async () => {
    const { origin } = await startServer(() => undefined);
    const call = createTestClient(origin).getWebhook({ signal: AbortSignal.timeout(100) });
    await expect(call).rejects.toMatchObject({ name: "TimeoutError" });
  });
});
