import type { Agent } from "undici";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { MessageClientOptions, Retry } from "../../../provider/client/index.js";
import { orAborted } from "../../../provider/lib/abort.js";
import { freePort, startServer, startTcpServer, type Answer } from "../../support/http.js";
import {
  answerOk,
  CALLS,
  createAgent,
  createTestClient,
  createTestMessageClient,
  failureOf,
  TO,
} from "./harness.js";

/** The pauses before a test's retries, in ms. Each only advances the fake clock, unless the test holds it. */
const pauses: number[] = [];
let held: Promise<void> = Promise.resolve();
vi.mock(import("../../../provider/lib/abort.js"), async (load) => ({
  ...(await load()),
  sleep: async (ms, signal = new AbortController().signal) => {
    pauses.push(ms);
    await orAborted(held, signal);
    vi.advanceTimersByTime(ms);
  },
}));
beforeEach(() => {
  pauses.length = 0;
  held = Promise.resolve();
  // On the fake clock, only pauses take time, so no attempt exceeds its limit, even on a busy machine.
  vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"] });
});
afterEach(() => vi.useRealTimers());

const TEXT = { ...TO, text: "Good morning" };

const sendTo = (origin: string, options: Partial<MessageClientOptions> = {}) =>
  createTestMessageClient(origin, options).sendText(TEXT);

/** Holds every pause from now on, until the returned function is called. */
function holdPauses(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  held = promise;
  return resolve;
}

/** Responds with these statuses, then with success. */
const answerFirst =
  (statuses: number[], headers: Record<string, string> = {}): Answer =>
  (_, response, index) => {
    const status = statuses[index];
    return status === undefined ? answerOk(response) : response.writeHead(status, headers).end();
  };

type Way = [name: string, start: () => Promise<{ url: string; dispatcher?: Agent }>];

const withStatus = (status: number): Way => [
  `HTTP ${status}`,
  () => startServer((_, response) => response.writeHead(status).end()),
];

/** Failures after which a call is treated as not accepted. */
const NOT_TAKEN: Way[] = [
  ...[429, 503].map(withStatus),
  [
    "a 503 whose body breaks off",
    () =>
      startServer((_, response) => {
        response.writeHead(503, { "content-length": 100 });
        response.write("busy", () => response.socket?.destroy());
      }),
  ],
  ...["ECONNREFUSED", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "ECONNRESET"].map((code): Way => [
    `no connection: ${code}`,
    async () => {
      const error = Object.assign(new Error(`connect ${code}`), { code });
      const dispatcher = createAgent({ connect: (_options, done) => done(error, null) });
      return { url: "http://127.0.0.1:9", dispatcher };
    },
  ]),
  [
    "a connection that breaks off during the TLS handshake",
    async () => {
      const { url } = await startTcpServer((socket) => socket.once("data", () => socket.resetAndDestroy()));
      return { url: url.replace("http:", "https:") };
    },
  ],
];

/** Failures after which a call may have been accepted. */
const LOST: Way[] = [
  ...[408, 500, 502, 504].map(withStatus),
  [
    "a connection reset before the request is read",
    () => startTcpServer((socket) => socket.once("readable", () => socket.resetAndDestroy())),
  ],
  [
    "a connection closed after the request is read",
    () => startTcpServer((socket) => socket.once("data", () => socket.destroy())),
  ],
];

describe.each(CALLS)("a failed %s", (operation, call) => {
  const isMessage = operation === "message";

  test.each(NOT_TAKEN)("is retried after %s, within the time limit", async (_, start) => {
    const { url, dispatcher } = await start();
    const error = await failureOf(call(url, { dispatcher }));
    expect(error).toMatchObject({ code: "unavailable", attempts: pauses.length + 1 });
    expect(error.attempts).toBeGreaterThan(1);
    expect(error.message).toContain(`(after ${error.attempts} attempts)`);
  });

  const verb = isMessage ? "is not retried, but reported as possibly accepted," : "is retried";
  test.each(LOST)(`${verb} after %s`, async (_, start) => {
    const { url, dispatcher } = await start();
    const error = await failureOf(call(url, { dispatcher }));
    expect(error).toMatchObject({ code: "unavailable", attempts: pauses.length + 1 });
    expect(error.attempts === 1).toBe(isMessage);
    expect(error.hints.some(({ id }) => id === "message_may_be_taken")).toBe(isMessage);
  });
});

test("if nothing listens at a local base URL, a call gives up early, and its error mentions the emulator", async () => {
  const client = createTestClient(`http://127.0.0.1:${await freePort()}`, { requestSeconds: 25 });
  const error = await failureOf(client.getWebhook());
  expect(error).toMatchObject({ attempts: 5, facts: { connection: "ECONNREFUSED" } });
  expect(error.message).toContain(
    "To use the emulator, run npx --package pulumi-apichat apichat emulator; otherwise, check baseUrl",
  );
});

describe.each(CALLS)("%s", (operation, call) => {
  test("is retried with the same body, and each retry is reported with the pause before it", async () => {
    const { url, requests } = await startServer(answerFirst([503, 429, 503]));
    const retries: (Retry & { operation: string })[] = [];
    await call(url, { onRetry: (retry) => retries.push(retry), requestSeconds: 10 });
    expect(requests).toHaveLength(4);
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
    expect(retries).toMatchObject([1, 2, 3].map((attempt) => ({ attempt, operation })));
    expect(retries.map(({ delayMs }) => delayMs)).toEqual(pauses);
  });

  test.each([
    ["1", 1000],
    ["0", 125],
  ])("waits for Retry-After (%s s) or the call's back-off, whichever is longer", async (header, leastMs) => {
    const { url, requests } = await startServer(answerFirst([503], { "retry-after": header }));
    await call(url);
    const [first, second] = requests.map(({ atMs }) => atMs);
    expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(leastMs);
  });

  test("fails at once if Retry-After is beyond the time limit", async () => {
    const { url } = await startServer(answerFirst([503], { "retry-after": "60" }));
    const error = await failureOf(call(url));
    expect(error).toMatchObject({ code: "unavailable", httpStatus: 503, attempts: 1 });
    expect(pauses).toEqual([]);
  });
});

describe("Retry-After", () => {
  test.each([
    ["delays", { "retry-after": "3" }, 3000],
    ["if it is missing, is replaced by a back-off, which delays", {}, 125],
  ])("%s all calls of both clients to the origin that sent a 429", async (_, headers, leastMs) => {
    const { url, requests } = await startServer(answerFirst([429], headers));
    const elsewhere = await startServer((_request, response) => answerOk(response));
    const release = holdPauses();
    const first = sendTo(url, { requestSeconds: 60 });
    await expect.poll(() => pauses).toHaveLength(1);
    const others = [sendTo(url), createTestClient(`${url}/a`).getWebhook()];
    await createTestClient(elsewhere.url).getWebhook();
    await expect.poll(() => pauses).toHaveLength(3);
    expect(requests).toHaveLength(1);
    release();
    await Promise.all([first, ...others]);
    const [rejectedAt = 0, ...later] = requests.map(({ atMs }) => atMs);
    expect(later).toHaveLength(3);
    expect(Math.min(...later) - rejectedAt).toBeGreaterThanOrEqual(leastMs);
  });

  test("delays only the call that received it, if the status is 503", async () => {
    const { url } = await startServer(answerFirst([503], { "retry-after": "2" }));
    const release = holdPauses();
    const first = createTestClient(`${url}/a`).getWebhook();
    await expect.poll(() => pauses).toHaveLength(1);
    expect(await createTestClient(`${url}/b`).getWebhook()).toMatchObject({ status: "verified" });
    release();
    expect(await first).toMatchObject({ status: "verified" });
  });
});

test.each([
  ["is called before each retry, not before the first attempt", true, 3],
  ["that resolves to false ends the operation, which then returns undefined", false, 1],
])("beforeRepeat %s", async (_, mayRepeat, sent) => {
  const { url, requests } = await startServer(answerFirst([503, 503]));
  const beforeRepeat = vi.fn<() => Promise<boolean>>(() => Promise.resolve(mayRepeat));
  const left = await createTestClient(url).deleteWebhook({ beforeRepeat });
  expect(left?.status).toBe(mayRepeat ? "verified" : undefined);
  expect(requests).toHaveLength(sent);
  expect(beforeRepeat).toHaveBeenCalledTimes(mayRepeat ? 2 : 1);
});

test.each([true, false])(
  "an accepted message is not retried if its response is incomplete, because the status is enough",
  async (isCut) => {
    vi.useRealTimers();
    const { url, requests } = await startServer((_, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write('{"status":', () => isCut && response.socket?.destroy());
    });
    const receipt = await sendTo(url, { requestSeconds: 1 });
    expect(receipt).toStrictEqual({ httpStatus: 200, body: undefined, attempts: 1 });
    expect(requests).toHaveLength(1);
  },
);

test("a message is not retried if a reused connection closes", async () => {
  const { url, requests } = await startServer((_, response, index) =>
    index === 0 ? response.end() : response.socket?.destroy(),
  );
  const client = createTestMessageClient(url, { dispatcher: createAgent({ connections: 1 }) });
  await client.sendText(TEXT);
  expect(await failureOf(client.sendText(TEXT))).toMatchObject({ code: "unavailable", attempts: 1 });
  expect(requests).toHaveLength(2);
});
