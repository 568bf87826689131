import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { BatchResult } from "../../../provider/client/index.js";
import type { InboundMessage } from "../../../schema/inbound.js";
import { startServer, type Received } from "../../support/http.js";
import { createTestMessageClient, failureOf, textOf, TO } from "./harness.js";

const parse = ({ body }: Received): InboundMessage => JSON.parse(body) as InboundMessage;

/** A server whose answers the test gives. */
async function startHeldServer() {
  const held: { content: string; response: ServerResponse }[] = [];
  const { url } = await startServer((request, response) => {
    held.push({ content: parse(request).content, response });
  });
  const arrived = (): string[] => held.map(({ content }) => content);
  const count = (wanted: number) => expect.poll(arrived, { interval: 5 }).toHaveLength(wanted);
  const answer = (content: string): unknown =>
    held
      .find((one) => one.content === content)
      ?.response.writeHead(200)
      .end();
  return { url, count, answer, arrived };
}

/** Refuses the messages with these contents, and takes the others. */
const startRefusing = (...refused: string[]) =>
  startServer((request, response) =>
    response.writeHead(refused.includes(parse(request).content) ? 422 : 200).end(),
  );

/** Each message and what became of it, such as `one sent` or `two skipped earlier-failed`. */
const outcomes = (results: BatchResult[]): string[] =>
  results.map((result) =>
    [result.message.content, result.outcome, ...("because" in result ? [result.because] : [])].join(" "),
  );

describe("a batch", () => {
  test("gives one result for each message, in the order given", async () => {
    const { url } = await startServer((_, response, index) =>
      response.writeHead(200 + (index % 3)).end("{}"),
    );
    const messages = Array.from({ length: 30 }, (_, n) => textOf(n % 4, `m${n}`));
    const results = await createTestMessageClient(url).sendBatch(messages);
    const [first, ...rest] = results.map((result) => ({ ...result, httpStatus: 200 }));
    const sent = { outcome: "sent", httpStatus: 200, body: {}, attempts: 1 };
    expect(first).toEqual({ index: 0, message: messages[0], ...sent });
    expect(rest).toEqual(messages.slice(1).map((message, n) => ({ index: n + 1, message, ...sent })));
    expect(await createTestMessageClient(url).sendBatch([])).toEqual([]);
  });

  test("takes messages by their kind too, in one order with those on the wire", async () => {
    const { url, requests } = await startServer();
    const image = "https://media.example/a";
    const results = await createTestMessageClient(url).sendBatch([
      { kind: "text", ...TO, text: "one" },
      textOf(7, "two"),
      { kind: "button", ...TO, title: "Yes", payload: "yes" },
      { kind: "image", ...TO, url: image },
    ]);
    expect(results.map(({ outcome }) => outcome)).toEqual(["sent", "sent", "sent", "sent"]);
    expect(results[0]?.message).toEqual({ kind: "text", ...TO, text: "one" });
    expect(requests.map(parse)).toMatchObject([
      { event: "message_created", content: "one", conversation_id: 7 },
      { content: "two" },
      { event: "message_postback", submitted_values: [{ title: "Yes", payload: "yes" }] },
      { attachments: [{ file_type: "image", data_url: image }] },
    ]);
    expect(requests.every(({ body }) => !body.includes('"kind"'))).toBe(true);
  });

  test.each([
    [
      { kind: "sticker", ...TO },
      { field: "kind", text: /^must be one of text,/ },
    ],
    [
      { ...TO, text: "private" },
      { field: "kind", text: /in wire format/ },
    ],
  ])("names what is wrong with %j, by the names of its options", async (message, { field, text }) => {
    const [result] = await createTestMessageClient("http://127.0.0.1:9").sendBatch([message as never]);
    const problems = [{ field, text: expect.stringMatching(text) as string }];
    expect(result).toMatchObject({ outcome: "failed", error: { code: "invalid_config", problems } });
    expect(String(result && "error" in result && result.error)).not.toContain("private");
  });

  test("keeps the order within each conversation, and sends others meanwhile", async () => {
    const { url, count, answer, arrived } = await startHeldServer();
    const reported: string[] = [];
    const sent = createTestMessageClient(url).sendBatch(
      [textOf(1, "a1"), textOf(1, "a2"), textOf(1, "c1", "contact-43"), textOf(2, "b1"), textOf(2, "b2")],
      { onResult: ({ message }) => reported.push(message.content) },
    );
    await count(3);
    expect(arrived().toSorted()).toEqual(["a1", "b1", "c1"]);
    answer("b1");
    await count(4);
    expect([arrived().at(-1), ...reported]).toEqual(["b2", "b1"]);
    answer("a1");
    await count(5);
    for (const content of ["a2", "b2", "c1"]) answer(content);
    expect(outcomes(await sent)).toEqual(["a1 sent", "a2 sent", "c1 sent", "b1 sent", "b2 sent"]);
    expect(reported.toSorted()).toEqual(["a1", "a2", "b1", "b2", "c1"]);
  });

  test.each([1, 3, 8])("has %i messages in progress at most", async (concurrency) => {
    const { url, count, answer, arrived } = await startHeldServer();
    const messages = Array.from({ length: 20 }, (_, n) => textOf(n, `m${n}`));
    const sent = createTestMessageClient(url, { requestSeconds: 30 }).sendBatch(messages, { concurrency });
    for (let answered = 0; answered < 20; answered += 1) {
      await count(Math.min(answered + concurrency, 20));
      answer(arrived()[answered] ?? "");
    }
    expect(await sent).toHaveLength(20);
  });

  test.each([0, -1, 1.5, Number.NaN])("with concurrency %d is refused", async (concurrency) => {
    const client = createTestMessageClient("http://127.0.0.1:9");
    const error = await failureOf(client.sendBatch([], { concurrency }));
    expect(error).toMatchObject({ code: "invalid_config", problems: [{ field: "concurrency" }] });
  });
});

describe("a failure within a batch", () => {
  test("skips what comes later in its conversation, also much later, in either shape, and nothing else", async () => {
    const { url, requests } = await startRefusing("a2");
    const others = Array.from({ length: 100 }, (_, n) => textOf(2, `b${n}`));
    const a3 = { kind: "text", ...TO, conversationId: 1, text: "a3" } as const;
    const messages = [textOf(1, "a1"), textOf(1, "a2"), a3, ...others, textOf(1, "a4")];
    const results = await createTestMessageClient(url).sendBatch(messages);
    const skipped = { outcome: "skipped", because: "earlier-failed" };
    expect(results.slice(0, 3)).toMatchObject([
      { outcome: "sent" },
      { outcome: "failed", error: { code: "rejected", httpStatus: 422 } },
      skipped,
    ]);
    expect(results.slice(3, -1).every(({ outcome }) => outcome === "sent")).toBe(true);
    expect(results.at(-1)).toMatchObject({ ...skipped, index: 103 });
    expect(requests).toHaveLength(102);
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

/** Two messages, and then what is done in place of a third. */
async function* sourceOf(then: () => Promise<void>): AsyncGenerator<InboundMessage> {
  yield textOf(1, "one");
  yield textOf(1, "two");
  await then();
}

describe("the source of a batch", () => {
  test("is read as results come, at most eight times ahead, and closed when the signal fires", async () => {
    const { url, count, answer } = await startHeldServer();
    const { state, messages } = endlessSource();
    const controller = new AbortController();
    const { signal } = controller;
    const results = createTestMessageClient(url).sendBatch(messages, { concurrency: 2, signal });
    await count(2);
    await expect.poll(() => state.read).toBe(16);
    answer("m1");
    await count(3);
    await expect.poll(() => state.read).toBe(17);
    controller.abort(new Error("enough"));
    expect(await results).toHaveLength(17);
    await expect.poll(() => state.closed).toBe(true);
  });

  test("that throws ends the batch with its error, when what was read has its result", async () => {
    const { url } = await startServer();
    const results: BatchResult[] = [];
    const source = sourceOf(() => Promise.reject(new Error("no more paper")));
    const onResult = (result: BatchResult): void => void results.push(result);
    const sent = createTestMessageClient(url).sendBatch(source, { onResult });
    await expect(sent).rejects.toThrow("no more paper");
    expect(outcomes(results)).toEqual(["one sent", "two sent"]);
  });
});

describe("a signal that ends a batch", () => {
  const reason = new Error("enough");

  test.each(["batch", "client"])("and is the %s's gives a result for each message read", async (owner) => {
    const { url, count, answer, arrived } = await startHeldServer();
    const controller = new AbortController();
    const { signal } = controller;
    const client = createTestMessageClient(url, owner === "client" ? { signal } : {});
    const contents = ["a1", "a2", "a3", "b1", "c1"];
    const sent = client.sendBatch(
      contents.map((content) => textOf(content.charCodeAt(0), content)),
      { concurrency: 2, ...(owner === "batch" ? { signal } : {}) },
    );
    await count(2);
    answer("a1");
    await count(3);
    controller.abort(reason);
    const outcomeOf = (content: string): string =>
      content === "a1" ? "sent" : arrived().includes(content) ? "failed" : "skipped aborted";
    const results = await sent;
    expect(outcomes(results)).toEqual(contents.map((content) => `${content} ${outcomeOf(content)}`));
    expect(results.flatMap((one) => ("error" in one ? [one.error] : []))).toEqual([reason, reason]);
    expect(arrived()).toHaveLength(3);
  });
});
