import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { BatchResult } from "../../../provider/client/index.js";
import type { InboundMessage } from "../../../schema/inbound.js";
import { failureOf, startServer, type Received } from "./harness.js";
import { createTestMessageClient, FLOW_KEY, textOf } from "./message-harness.js";

const parse = ({ body }: Received): InboundMessage => JSON.parse(body) as InboundMessage;
const contentsOf = (messages: InboundMessage[]): string[] => messages.map(({ content }) => content);

/** A server whose answers the test gives. */
async function startHeldServer() {
  const held: { message: InboundMessage; response: ServerResponse }[] = [];
  const waiting: (() => void)[] = [];
  const { origin } = await startServer((request, response) => {
    held.push({ message: parse(request), response });
    for (const wake of waiting.splice(0)) wake();
  });
  const count = async (wanted: number): Promise<void> => {
    while (held.length < wanted) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const answer = (content: string, status = 200): void =>
    void held
      .find(({ message }) => message.content === content)
      ?.response.writeHead(status)
      .end();
  return { origin, count, answer, arrived: () => contentsOf(held.map(({ message }) => message)) };
}

const outcomes = (results: BatchResult[]): string[] =>
  results.map(({ message, outcome }) => `${message.content} ${outcome}`);

describe("a batch", () => {
  test("gives one result for each message, in the order given", async () => {
    const { origin } = await startServer((_, response, index) =>
      response.writeHead(200 + (index % 3)).end(index % 2 ? "" : "{}"),
    );
    const messages = Array.from({ length: 30 }, (_, n) => textOf(n % 4, `m${n}`));
    const results = await createTestMessageClient(origin).sendBatch(messages);
    expect(results.map(({ index, message }) => [index, message])).toEqual(messages.map((m, n) => [n, m]));
    expect(results[0]).toEqual({
      index: 0,
      message: messages[0],
      outcome: "sent",
      httpStatus: 200,
      body: {},
      attempts: 1,
    });
    expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(["sent"]));
  });

  test("takes messages by their kind too, in one order with those on the wire", async () => {
    const { origin, received } = await startServer((_, response) => response.end());
    const to = { sender: { id: "contact-42", name: "Ana" }, conversationId: 7 };
    const url = "https://media.example/a";
    const results = await createTestMessageClient(origin).sendBatch([
      { kind: "text", ...to, text: "one" },
      textOf(7, "two"),
      { kind: "button", ...to, title: "Yes", payload: "yes" },
      { kind: "image", ...to, url },
    ]);
    expect(results.map(({ outcome }) => outcome)).toEqual(["sent", "sent", "sent", "sent"]);
    expect(results[0]?.message).toEqual({ kind: "text", ...to, text: "one" });
    expect(received.map(parse)).toMatchObject([
      { event: "message_created", content: "one", conversation_id: 7 },
      { content: "two" },
      { event: "message_postback", submitted_values: [{ title: "Yes", payload: "yes" }] },
      { attachments: [{ file_type: "image", data_url: url }] },
    ]);
    expect(received.every(({ body }) => !body.includes('"kind"'))).toBe(true);
  });

  test.each([
    [{ kind: "sticker", sender: { id: "a", name: "" }, conversationId: 7 }, "kind: must be one of text,"],
    [{ sender: { id: "a", name: "" }, conversationId: 7, text: "private" }, "as on the wire"],
    [{ kind: "text", sender: { id: "a", name: "" }, conversationId: 7 }, "text: is missing"],
  ])("names what is wrong with %j, by the names of its options", async (message, text) => {
    const client = createTestMessageClient("http://127.0.0.1:9");
    const [result] = await client.sendBatch([message as never]);
    expect(result).toMatchObject({ outcome: "failed", error: { code: "invalid_config" } });
    expect(String(result?.outcome === "failed" && result.error)).toContain(text);
    expect(String(result?.outcome === "failed" && result.error)).not.toContain("private");
  });

  test("of nothing is nothing", async () => {
    expect(await createTestMessageClient("http://127.0.0.1:9").sendBatch([])).toEqual([]);
  });

  test("keeps the order within each conversation, and sends others meanwhile", async () => {
    const { origin, count, answer, arrived } = await startHeldServer();
    const sent = createTestMessageClient(origin).sendBatch([
      textOf(1, "a1"),
      textOf(1, "a2"),
      textOf(1, "other contact", "contact-43"),
      textOf(2, "b1"),
      textOf(2, "b2"),
    ]);
    await count(3);
    expect(arrived().toSorted()).toEqual(["a1", "b1", "other contact"]);
    answer("b1");
    await count(4);
    expect(arrived().at(-1)).toBe("b2");
    answer("a1");
    await count(5);
    for (const content of ["a2", "b2", "other contact"]) answer(content);
    expect(outcomes(await sent)).toEqual(["a1 sent", "a2 sent", "other contact sent", "b1 sent", "b2 sent"]);
  });

  test("keeps the order also while messages are repeated", async () => {
    const taken: string[] = [];
    const { origin } = await startServer((request, response, index) => {
      if (index % 3 === 0) return response.writeHead(503).end();
      taken.push(parse(request).content);
      return response.end();
    });
    const messages = Array.from({ length: 6 }, (_, n) => textOf(1, `m${n}`));
    await createTestMessageClient(origin).sendBatch(messages);
    expect(taken).toEqual(contentsOf(messages));
  });

  test.each([1, 3, 8])("has %i messages under way at most", async (concurrency) => {
    let now = 0;
    let most = 0;
    const { origin } = await startServer((_, response) => {
      most = Math.max(most, (now += 1));
      setTimeout(() => {
        now -= 1;
        response.end();
      }, 10);
    });
    const messages = Array.from({ length: 40 }, (_, n) => textOf(n, `m${n}`));
    await createTestMessageClient(origin).sendBatch(messages, { concurrency });
    expect(most).toBe(concurrency);
  });

  test.each([0, -1, 1.5, Number.NaN])(
    "with concurrency %d is refused: invalid_config",
    async (concurrency) => {
      const error = await failureOf(
        createTestMessageClient("http://127.0.0.1:9").sendBatch([], { concurrency }),
      );
      expect(error).toMatchObject({ code: "invalid_config" });
      expect(error.message).toContain("concurrency: ");
    },
  );

  test("tells each result as it comes", async () => {
    const { origin, count, answer } = await startHeldServer();
    const told: string[] = [];
    const first = Promise.withResolvers<void>();
    const sent = createTestMessageClient(origin).sendBatch([textOf(1, "a"), textOf(2, "b")], {
      onResult: ({ message }) => {
        told.push(message.content);
        first.resolve();
      },
    });
    await count(2);
    answer("b");
    await first.promise;
    expect(told).toEqual(["b"]);
    answer("a");
    expect(outcomes(await sent)).toEqual(["a sent", "b sent"]);
    expect(told).toEqual(["b", "a"]);
  });
});

describe("a failure within a batch", () => {
  test("skips what comes later in its conversation, also much later, and nothing else", async () => {
    const { origin, received } = await startServer((request, response) =>
      response.writeHead(parse(request).content === "a2" ? 422 : 200).end(),
    );
    const others = Array.from({ length: 100 }, (_, n) => textOf(2, `b${n}`));
    const messages = [textOf(1, "a1"), textOf(1, "a2"), textOf(1, "a3"), ...others, textOf(1, "a4")];
    const results = await createTestMessageClient(origin).sendBatch(messages);
    const [a1, a2, a3, ...rest] = results;
    expect(a1).toMatchObject({ outcome: "sent" });
    expect(a2).toMatchObject({ outcome: "failed", error: { code: "rejected", httpStatus: 422 } });
    expect(a3).toMatchObject({ outcome: "skipped", because: "earlier-failed" });
    expect(rest.pop()).toMatchObject({ outcome: "skipped", because: "earlier-failed", index: 103 });
    expect(rest.every(({ outcome }) => outcome === "sent")).toBe(true);
    expect(received).toHaveLength(102);
  });

  test("of a message by its kind skips those on the wire in its conversation, and no other", async () => {
    const { origin, received } = await startServer((request, response) =>
      response.writeHead(parse(request).content === "a1" ? 422 : 200).end(),
    );
    const sender = { id: "contact-42", name: "Ana" };
    const results = await createTestMessageClient(origin).sendBatch([
      { kind: "text", sender, conversationId: 1, text: "a1" },
      textOf(1, "a2"),
      { kind: "text", sender, conversationId: 2, text: "b1" },
    ]);
    expect(results.map(({ outcome }) => outcome)).toEqual(["failed", "skipped", "sent"]);
    expect(received).toHaveLength(2);
  });

  test("by the check skips the rest of its conversation too", async () => {
    const { origin, received } = await startServer((_, response) => response.end());
    const results = await createTestMessageClient(origin).sendBatch([
      textOf(1, ""),
      textOf(1, "later"),
      textOf(2, "other"),
      null as never,
    ]);
    expect(results).toMatchObject([
      { outcome: "failed", error: { code: "invalid_config", attempts: 0 } },
      { outcome: "skipped", because: "earlier-failed" },
      { outcome: "sent" },
      { outcome: "failed", error: { code: "invalid_config" } },
    ]);
    expect(received).toHaveLength(1);
  });

  test("of everything ends the batch with a result for each", async () => {
    const { origin } = await startServer((_, response) => response.writeHead(401).end(FLOW_KEY));
    const messages = Array.from({ length: 20 }, (_, n) => textOf(n % 10, `m${n}`));
    const results = await createTestMessageClient(origin).sendBatch(messages);
    expect(results.slice(0, 10).every(({ outcome }) => outcome === "failed")).toBe(true);
    expect(results.slice(10).every(({ outcome }) => outcome === "skipped")).toBe(true);
    expect(inspect(results, { depth: Infinity, showHidden: true })).not.toContain(FLOW_KEY);
  });
});

/** Endless, each message of a conversation of its own; counts what was read of it. */
function endlessSource() {
  const state = { read: 0, closed: false };
  async function* generate(): AsyncGenerator<InboundMessage> {
    try {
      for (;;) {
        await Promise.resolve();
        yield textOf(state.read, `m${(state.read += 1)}`);
      }
    } finally {
      state.closed = true;
    }
  }
  return { state, messages: generate() };
}

function* failingSource(): Generator<InboundMessage> {
  yield textOf(1, "one");
  yield textOf(1, "two");
  throw new Error("no more paper");
}

async function* hangingSource(): AsyncGenerator<InboundMessage> {
  yield textOf(1, "one");
  await new Promise(() => undefined);
}

describe("the source of a batch", () => {
  test("is read as results come, and no further", async () => {
    const { origin, count, answer } = await startHeldServer();
    const { state, messages } = endlessSource();
    const controller = new AbortController();
    const results = createTestMessageClient(origin).sendBatch(messages, {
      concurrency: 2,
      signal: controller.signal,
    });
    await count(2);
    await expect.poll(() => state.read).toBe(16);
    answer("m1");
    await count(3);
    await expect.poll(() => state.read).toBe(17);
    controller.abort(new Error("enough"));
    expect(await results).toHaveLength(17);
    await expect.poll(() => state.closed).toBe(true);
  });

  test("may be any iterable", async () => {
    const { origin } = await startServer((_, response) => response.end());
    const source = new Map([["one", textOf(1, "one")]]).values();
    expect(outcomes(await createTestMessageClient(origin).sendBatch(source))).toEqual(["one sent"]);
  });

  test("that throws ends the batch with its error, when what was read has its result", async () => {
    const { origin, received } = await startServer((_, response) => response.end());
    const results: BatchResult[] = [];
    const sent = createTestMessageClient(origin).sendBatch(failingSource(), {
      onResult: (result) => results.push(result),
    });
    await expect(sent).rejects.toThrow("no more paper");
    expect(outcomes(results)).toEqual(["one sent", "two sent"]);
    expect(received).toHaveLength(2);
  });

  test("is closed if onResult throws, and the batch rejects with that", async () => {
    const { origin } = await startServer((_, response) => response.end());
    const { state, messages } = endlessSource();
    const sent = createTestMessageClient(origin).sendBatch(messages, {
      onResult: () => {
        throw new Error("disk full");
      },
    });
    await expect(sent).rejects.toThrow("disk full");
    expect(state.closed).toBe(true);
  });
});

describe("an abort of a batch", () => {
  const reason = new Error("enough");

  test.each(["batch", "client"])("by the %s's signal gives a result for each message read", async (owner) => {
    const { origin, count, answer, arrived } = await startHeldServer();
    const controller = new AbortController();
    const { signal } = controller;
    const client = createTestMessageClient(origin, owner === "client" ? { signal } : {});
    const messages = [textOf(1, "a1"), textOf(1, "a2"), textOf(1, "a3"), textOf(2, "b1"), textOf(3, "c1")];
    const results = client.sendBatch(messages, { concurrency: 2, ...(owner === "batch" ? { signal } : {}) });
    await count(2);
    answer("a1");
    await count(3);
    controller.abort(reason);
    const underWay = arrived().filter((content) => content !== "a1");
    const outcomeOf = (content: string): string =>
      content === "a1" ? "sent" : underWay.includes(content) ? "failed" : "skipped";
    expect(outcomes(await results)).toEqual(
      contentsOf(messages).map((content) => `${content} ${outcomeOf(content)}`),
    );
    const errors = (await results).flatMap((result) => (result.outcome === "failed" ? [result.error] : []));
    expect(errors).toEqual([reason, reason]);
    const causes = (await results).flatMap((result) =>
      result.outcome === "skipped" ? [result.because] : [],
    );
    expect(causes).toEqual(["aborted", "aborted"]);
    expect(arrived()).toHaveLength(3);
  });

  test("does not wait for a source that has nothing yet", async () => {
    const { origin } = await startServer((_, response) => response.end());
    const controller = new AbortController();
    const results = createTestMessageClient(origin).sendBatch(hangingSource(), {
      signal: controller.signal,
      onResult: () => controller.abort(reason),
    });
    expect(outcomes(await results)).toEqual(["one sent"]);
  });

  test("before it began sends and reads nothing", async () => {
    const { origin, received } = await startServer((_, response) => response.end());
    const { state, messages } = endlessSource();
    const signal = AbortSignal.abort(reason);
    expect(await createTestMessageClient(origin).sendBatch(messages, { signal })).toEqual([]);
    expect([received.length, state.read]).toEqual([0, 0]);
  });
});
