import type { ServerResponse } from "node:http";
import { describe, expect, test, vi } from "vitest";
import {
  backOffMs,
  LONGEST_RETRY_AFTER_MS,
  parseRetryAfter,
  type Retry,
} from "../../../provider/lib/retry.js";
import { startEmulator, type Emulator, type Fault } from "../../../provider/emulator/index.js";
import {
  API_KEY,
  REGISTERED,
  VERIFICATION_KEY,
  answerJson,
  answerOk,
  createTestClient,
  failureOf,
  startServer,
  startTcpServer,
} from "./harness.js";

const answerBusy = (response: ServerResponse, headers: Record<string, string> = {}, status = 503): void =>
  void response.writeHead(status, headers).end("{}");

describe.concurrent("a call is repeated", () => {
  test("until 503 three times is over", async () => {
    const retries: (Retry & { operation: string })[] = [];
    const { origin, received } = await startServer((_, response, index) =>
      index < 3 ? answerBusy(response) : answerOk(response),
    );
    const client = createTestClient(origin, { onRetry: (retry) => retries.push(retry) });
    expect(await client.getWebhook()).toMatchObject({ status: "verified" });
    expect(received).toHaveLength(4);
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
    expect(retries.map(({ attempt, operation }) => [attempt, operation])).toEqual([
      [1, "get-webhook"],
      [2, "get-webhook"],
      [3, "get-webhook"],
    ]);
  });

  test("when the connection is reset before any answer", async () => {
    const { origin, received } = await startServer((_, response, index) =>
      index === 0 ? response.socket?.destroy() : answerOk(response),
    );
    expect(await createTestClient(origin).getWebhook()).toMatchObject({ status: "verified" });
    expect(received).toHaveLength(2);
  });

  test("when the body is cut off midway", async () => {
    const { origin, received } = await startServer((_, response, index) => {
      if (index > 0) return answerOk(response);
      response.writeHead(200, { "content-length": 100 });
      response.write('{"status":', () => response.socket?.destroy());
    });
    expect(await createTestClient(origin).getWebhook()).toMatchObject({ status: "verified" });
    expect(received).toHaveLength(2);
  });

  const faults: Fault[] = ["close-before", "close-after", "truncated"];
  test.each(faults)("when the emulator says %s, and set and delete end as they should", async (fault) => {
    const emulator = await startEmulatorWithAcme();
    const { origin } = await startServer(({ body }, response) =>
      response.end(new URLSearchParams(body).get("hub_challenge")),
    );
    const acme = emulator.workspace("acme");
    const client = createTestClient(acme.baseUrl);
    try {
      emulator.injectFault({ operation: "set-webhook", fault });
      const wanted = { webhookUrl: origin, webhookVerificationKey: VERIFICATION_KEY };
      expect(await client.setWebhook(wanted)).toMatchObject({ webhookUrl: origin, status: "verified" });
      expect(acme.registration?.webhook_url).toBe(origin);
      emulator.injectFault({ operation: "delete-webhook", fault });
      expect(await client.deleteWebhook()).toBeUndefined();
      expect(acme.registration).toBeUndefined();
      expect(emulator.requests.map(({ action }) => action)).toEqual([
        "set-webhook",
        "set-webhook",
        "delete-webhook",
        "delete-webhook",
      ]);
    } finally {
      await emulator.close();
    }
  });

  test("by default, and never once the body of a refusal is whole", async () => {
    const { origin, received } = await startServer((_, response) => answerJson(response, {}, 422));
    await failureOf(createTestClient(origin).deleteWebhook());
    expect(received).toHaveLength(1);
  });
});

async function startEmulatorWithAcme(): Promise<Emulator> {
  return startEmulator({ workspaces: [{ name: "acme", apiKey: API_KEY }] });
}

/** Answers 503 with this Retry-After once; gives how long the client waited. */
async function waitedMs(retryAfter: () => string, status = 503): Promise<number> {
  const times: number[] = [];
  const { origin } = await startServer((_, response, index) => {
    times.push(performance.now());
    if (index > 0) return answerOk(response);
    answerBusy(response, { "retry-after": retryAfter() }, status);
  });
  await createTestClient(origin, { requestSeconds: 5 }).getWebhook();
  const [first = 0, second = 0] = times;
  return second - first;
}

describe.concurrent("Retry-After", () => {
  test("in seconds is waited for", async () => {
    expect(await waitedMs(() => "1")).toBeGreaterThanOrEqual(995);
  });

  test("as a date is waited for", async () => {
    const ms = await waitedMs(() => new Date(Date.now() + 2000).toUTCString(), 429);
    // A date has whole seconds.
    expect(ms).toBeGreaterThanOrEqual(995);
  });

  test.each(["0", "Wed, 21 Oct 2015 07:28:00 GMT", "soon"])("of %s still leaves a pause", async (value) => {
    expect(await waitedMs(() => value)).toBeGreaterThanOrEqual(100);
  });

  test.each(["60", new Date(Date.now() + 60_000).toUTCString(), "9".repeat(400)])(
    "beyond the time limit fails at once (%.8s)",
    async (value) => {
      const { origin, received } = await startServer((_, response) =>
        answerBusy(response, { "retry-after": value }),
      );
      const error = await failureOf(createTestClient(origin, { requestSeconds: 5 }).getWebhook());
      expect(error).toMatchObject({ code: "unavailable", httpStatus: 503, attempts: 1 });
      expect(received).toHaveLength(1);
    },
  );

  test("of a 429 holds back the other calls to that origin, and no others", async () => {
    const arrivals: number[] = [];
    const { origin } = await startServer((_, response, index) => {
      arrivals.push(performance.now());
      if (index === 0) answerBusy(response, { "retry-after": "3" }, 429);
      else answerOk(response);
    });
    const { origin: elsewhere, received } = await startServer((_, response) => answerOk(response));
    const refused = Promise.withResolvers<void>();
    const first = createTestClient(`${origin}/a`, {
      onRetry: () => refused.resolve(),
      requestSeconds: 20,
    }).getWebhook();
    await refused.promise;
    const others = [1, 2, 3].map((n) =>
      createTestClient(`${origin}/b${n}`, { requestSeconds: 20 }).getWebhook(),
    );
    await createTestClient(elsewhere).getWebhook();
    expect(received).toHaveLength(1);
    expect(arrivals).toHaveLength(1);
    await Promise.all([first, ...others]);
    const [refusedAt = 0, ...later] = arrivals;
    expect(later).toHaveLength(4);
    expect(Math.min(...later) - refusedAt).toBeGreaterThanOrEqual(2990);
  });

  test("of a 503 holds back only its own call", async () => {
    const { origin } = await startServer(({ path }, response, index) => {
      if (path.startsWith("/a") && index === 0) answerBusy(response, { "retry-after": "300" });
      else answerOk(response);
    });
    const refused = Promise.withResolvers<void>();
    const controller = new AbortController();
    const options = { onRetry: () => refused.resolve(), requestSeconds: 600, signal: controller.signal };
    const first = createTestClient(`${origin}/a`, options).getWebhook();
    await refused.promise;
    expect(await createTestClient(`${origin}/b`).getWebhook()).toMatchObject({ status: "verified" });
    controller.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
  });

  test("is read in seconds and as a date, at most a day, and as nothing else", () => {
    const now = Date.parse("2026-01-01T00:00:00Z");
    expect(parseRetryAfter("7", now)).toBe(7000);
    expect(parseRetryAfter(" 7 ", now)).toBe(7000);
    expect(parseRetryAfter("Thu, 01 Jan 2026 00:00:09 GMT", now)).toBe(9000);
    expect(parseRetryAfter("Wed, 31 Dec 2025 00:00:00 GMT", now)).toBe(0);
    expect(parseRetryAfter("9".repeat(400), now)).toBe(LONGEST_RETRY_AFTER_MS);
    expect(parseRetryAfter("Fri, 01 Jan 2100 00:00:00 GMT", now)).toBe(LONGEST_RETRY_AFTER_MS);
    expect(parseRetryAfter("soon", now)).toBeUndefined();
    expect(parseRetryAfter("", now)).toBeUndefined();
    expect(parseRetryAfter(undefined, now)).toBeUndefined();
  });
});

test("the back-off doubles up to eight seconds, with jitter over its upper half", () => {
  const most = [1, 2, 3, 4, 5, 6, 7, 100].map((attempt) => backOffMs(attempt, undefined, () => 1));
  expect(most).toEqual([250, 500, 1000, 2000, 4000, 8000, 8000, 8000]);
  const least = [1, 2, 3, 6, 100].map((attempt) => backOffMs(attempt, undefined, () => 0));
  expect(least).toEqual([125, 250, 500, 4000, 4000]);
});

describe.concurrent("beforeRepeat", () => {
  test("is asked before each repetition and never before the first attempt", async () => {
    const { origin } = await startServer((_, response, index) =>
      index < 2 ? answerBusy(response) : answerOk(response),
    );
    const beforeRepeat = vi.fn<() => Promise<boolean>>().mockResolvedValue(true);
    await createTestClient(origin).deleteWebhook({ beforeRepeat });
    expect(beforeRepeat).toHaveBeenCalledTimes(2);
  });

  test("ends the operation with undefined if it resolves to false", async () => {
    const { origin, received } = await startServer((_, response) => answerBusy(response));
    const beforeRepeat = vi.fn<() => Promise<boolean>>().mockResolvedValue(false);
    expect(await createTestClient(origin).deleteWebhook({ beforeRepeat })).toBeUndefined();
    expect(received).toHaveLength(1);
  });

  test("ends the operation with its own failure", async () => {
    const { origin, received } = await startServer((_, response) => answerBusy(response));
    const beforeRepeat = vi.fn<() => Promise<boolean>>().mockRejectedValue(new Error("somebody else's"));
    await expect(createTestClient(origin).deleteWebhook({ beforeRepeat })).rejects.toThrow("somebody else's");
    expect(received).toHaveLength(1);
  });
});

test("an answer that is no HTTP is unavailable, and what it says is not in the error", async () => {
  const origin = await startTcpServer((socket) => {
    socket.once("data", () => socket.end(`SSH-2.0-banner ${REGISTERED.bot_url}\r\n`));
  });
  const error = await failureOf(createTestClient(origin, { requestSeconds: 0.3 }).getWebhook());
  expect(error.code).toBe("unavailable");
});
