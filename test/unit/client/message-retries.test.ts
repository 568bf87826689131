import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import type { MessageClientOptions, MessageRetry, Retry } from "../../../provider/client/index.js";
import {
  closedPort,
  createAgent,
  createTestClient,
  failureOf,
  startServer,
  startTcpServer,
  type Answer,
} from "./harness.js";
import { createTestMessageClient, TO } from "./message-harness.js";

const TEXT = { ...TO, text: "Good morning" };

const sendTo = (origin: string, options: Partial<MessageClientOptions> = {}) =>
  createTestMessageClient(origin, options).sendText(TEXT);

/** Answers once with a status, then takes the message. */
const answerFirst =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_, response, index) =>
    void (index === 0 ? response.writeHead(status, headers).end() : response.end('"taken"'));

/** How often a message is repeated until its call is ended, at the second time. */
async function repetitions(origin: string, options: Partial<MessageClientOptions> = {}, before = 0) {
  const ending = new AbortController();
  const retries: Retry[] = [];
  const onRetry = (again: Retry): void => {
    if (retries.push(again) === 2) ending.abort(new Error("seen"));
  };
  const client = createTestMessageClient(origin, { requestSeconds: 30, ...options, onRetry });
  for (let n = 0; n < before; n += 1) await client.sendText(TEXT);
  await expect(client.sendText({ ...TEXT, signal: ending.signal })).rejects.toThrow("seen");
  return retries.map(({ attempt }) => attempt);
}

const POLICIES: MessageRetry[] = ["unsent", "any"];

describe.concurrent("a message that the service did not take", () => {
  describe.each(POLICIES)("is repeated with %s", (retry) => {
    test.each([429, 503])("after HTTP %i", async (status) => {
      const { origin, received } = await startServer(answerFirst(status));
      const retries: (Retry & { operation: string })[] = [];
      const receipt = await sendTo(origin, { retry, onRetry: (again) => retries.push(again) });
      expect(receipt).toStrictEqual({ httpStatus: 200, body: "taken", attempts: 2 });
      expect(received.map(({ body }) => body)).toEqual([received[0]?.body, received[0]?.body]);
      expect(retries.map(({ attempt, operation }) => [attempt, operation])).toEqual([[1, "message"]]);
    });

    test("after a 503 whose body breaks off", async () => {
      const { origin, received } = await startServer((_, response, index) => {
        if (index > 0) return response.end();
        response.writeHead(503, { "content-length": 100 });
        return response.write("busy", () => response.socket?.destroy());
      });
      expect(await sendTo(origin, { retry })).toMatchObject({ attempts: 2 });
      expect(received).toHaveLength(2);
    });

    test.each(["ECONNREFUSED", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "ECONNRESET"])(
      "when no connection is made: %s",
      async (code) => {
        const { origin, received } = await startServer((_, response) => response.end());
        let connections = 0;
        const dispatcher = createAgent({
          connect: (_options, done) => {
            connections += 1;
            done(Object.assign(new Error(`connect ${code}`), { code }), null);
          },
        });
        expect(await repetitions(origin, { retry, dispatcher })).toEqual([1, 2]);
        expect(connections).toBe(2);
        expect(received).toEqual([]);
      },
    );
  });

  test("is repeated where nothing listens", async () => {
    const port = await closedPort();
    expect(await repetitions(`http://127.0.0.1:${port}`)).toEqual([1, 2]);
  });

  test("is repeated when TLS is broken off before it is made", async () => {
    const sockets: Socket[] = [];
    const origin = await startTcpServer((socket) => {
      sockets.push(socket);
      socket.once("data", () => socket.resetAndDestroy());
    });
    expect(await repetitions(origin.replace("http:", "https:"))).toEqual([1, 2]);
    expect(sockets).toHaveLength(2);
  });

  test("fails at once where the name does not exist", async () => {
    const notFound = Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" });
    const dispatcher = createAgent({ connect: { lookup: (_host, _options, done) => done(notFound, []) } });
    const error = await failureOf(sendTo("http://bots.example", { dispatcher }));
    expect(error).toMatchObject({ code: "unavailable", operation: "message", attempts: 1 });
    expect(error.message).toContain("The message was not sent");
  });

  test("waits as long as Retry-After says, and so do the other calls to the origin after a 429", async () => {
    const arrivals: number[] = [];
    const { origin } = await startServer((request, response, index) => {
      arrivals.push(performance.now());
      answerFirst(429, { "retry-after": "1" })(request, response, index);
    });
    const refused = Promise.withResolvers<void>();
    const first = sendTo(origin, { onRetry: () => refused.resolve() });
    await refused.promise;
    const others = Promise.allSettled([sendTo(origin), createTestClient(origin).getWebhook()]);
    expect(await first).toMatchObject({ attempts: 2 });
    await others;
    const [refusedAt = 0, ...later] = arrivals;
    expect(later).toHaveLength(3);
    expect(Math.min(...later) - refusedAt).toBeGreaterThanOrEqual(990);
  });

  test("fails at once if Retry-After is beyond the time limit", async () => {
    const { origin, received } = await startServer(answerFirst(503, { "retry-after": "60" }));
    expect(await failureOf(sendTo(origin))).toMatchObject({
      code: "unavailable",
      httpStatus: 503,
      attempts: 1,
    });
    expect(received).toHaveLength(1);
  });
});

/** Ways to lose a message that was sent, of which nobody knows whether it was taken. Gives an origin and a count of tries. */
const LOST: [string, () => Promise<{ origin: string; tries: () => number }>][] = [
  ...[408, 500, 502, 504].map((status): (typeof LOST)[number] => [
    `HTTP ${status}`,
    async () => {
      const { origin, received } = await startServer((_, response) => response.writeHead(status).end());
      return { origin, tries: () => received.length };
    },
  ]),
  [
    "a connection reset while the request lies there unread",
    () => startBreaking((socket) => socket.once("readable", () => socket.resetAndDestroy())),
  ],
  [
    "a connection ended in good order before the request is read",
    () => startBreaking((socket) => void socket.end()),
  ],
  [
    "a connection closed after the request is read",
    () => startBreaking((socket) => socket.once("data", () => socket.destroy())),
  ],
  [
    "a connection reset after the request is read",
    () => startBreaking((socket) => socket.once("data", () => socket.resetAndDestroy())),
  ],
  [
    "a connection closed within the answer's head",
    () => startBreaking((socket) => socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-le"))),
  ],
  [
    "an answer that is no HTTP",
    () => startBreaking((socket) => socket.once("data", () => socket.end("SSH-2.0-banner\r\n"))),
  ],
  [
    "a connection of an earlier message, closed under this one",
    async () => {
      const { origin, received } = await startServer((_, response, index) =>
        index === 0 ? response.end() : response.socket?.destroy(),
      );
      return { origin, tries: () => received.length - 1 };
    },
  ],
];

async function startBreaking(
  serve: (socket: Socket) => void,
): Promise<{ origin: string; tries: () => number }> {
  let tries = 0;
  const origin = await startTcpServer((socket) => {
    tries += 1;
    serve(socket);
  });
  return { origin, tries: () => tries };
}

describe.concurrent("a message that the service may have taken", () => {
  describe.each(LOST)("after %s", (name, start) => {
    const isReused = name.startsWith("a connection of an earlier message");

    test("is not repeated by default, and its error says so", async () => {
      const { origin, tries } = await start();
      const client = createTestMessageClient(origin, { dispatcher: createAgent({ connections: 1 }) });
      if (isReused) await client.sendText(TEXT);
      const error = await failureOf(client.sendText(TEXT));
      expect(error).toMatchObject({ code: "unavailable", operation: "message", attempts: 1 });
      expect(error.message).toContain("the service may have taken it");
      expect(tries()).toBe(1);
    });

    test("is repeated with any", async () => {
      const { origin, tries } = await start();
      expect(await repetitions(origin, { retry: "any" }, isReused ? 1 : 0)).toEqual([1, 2]);
      expect(tries()).toBe(2);
    });
  });

  test("is not repeated after the time limit", async () => {
    const { origin, received } = await startServer(() => undefined);
    const error = await failureOf(sendTo(origin, { retry: "any", requestSeconds: 1 }));
    expect(error).toMatchObject({ code: "timeout", attempts: 1 });
    expect(received).toHaveLength(1);
  });
});

describe.each(POLICIES)("with %s, a message that the service took", (retry) => {
  test.each<[string, Answer]>([
    [
      "breaks off",
      (_, response) => {
        response.writeHead(200, { "content-length": 100 });
        response.write('{"status":', () => response.socket?.destroy());
      },
    ],
    [
      "does not end within the time limit",
      (_, response) => void response.writeHead(200, { "content-length": 100 }).write('{"status":'),
    ],
  ])("is not repeated if the answer %s: its status counts", async (_name, answer) => {
    const { origin, received } = await startServer(answer);
    const receipt = await sendTo(origin, { retry, requestSeconds: 2 });
    expect(receipt).toStrictEqual({ httpStatus: 200, body: undefined, attempts: 1 });
    expect(received).toHaveLength(1);
  });
});
