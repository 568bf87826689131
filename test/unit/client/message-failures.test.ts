import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { ApiChatError, MessageClientOptions, SendOptions } from "../../../provider/client/index.js";
import { quoteAboutMessage } from "../../../provider/client/message-client.js";
import { findSecrets } from "../../support/secrets.js";
import { failureOf, startDeafListener, startServer, startTcpServer } from "./harness.js";
import { createTestMessageClient, FLOW_KEY, textOf, TO } from "./message-harness.js";

const TEXT = { ...TO, text: "Good morning" };

type Respond = (response: ServerResponse) => void;

const respondWith =
  (status: number, body = "", headers: Record<string, string> = {}): Respond =>
  (response) =>
    response.writeHead(status, headers).end(body);

describe("an answer that is not a success", () => {
  test.each<[string, Respond, { code: string; httpStatus: number }, string]>([
    ["401", respondWith(401), { code: "unauthorized", httpStatus: 401 }, '"Gerenciar Fluxo"'],
    ["403", respondWith(403), { code: "unauthorized", httpStatus: 403 }, "Authorization: Bearer"],
    ["404", respondWith(404), { code: "rejected", httpStatus: 404 }, "botUrl may be outdated"],
    ["410", respondWith(410), { code: "rejected", httpStatus: 410 }, "botUrl may be outdated"],
    ["400", respondWith(400, "no such field"), { code: "rejected", httpStatus: 400 }, ": no such field"],
    ["422", respondWith(422), { code: "rejected", httpStatus: 422 }, "HTTP 422"],
    ["501", respondWith(501), { code: "rejected", httpStatus: 501 }, "HTTP 501"],
    [
      "a redirect",
      respondWith(302, "", { location: "https://other.example/path?token=query-value" }),
      { code: "protocol", httpStatus: 302 },
      "https://other.example/path?token=***, which is not followed",
    ],
    ["a redirect to nowhere", respondWith(301), { code: "protocol", httpStatus: 301 }, "Set botUrl"],
  ])("(%s) fails at once", async (_, respond, expected, text) => {
    const { origin, received } = await startServer((_request, response) => respond(response));
    const botUrl = `${origin}/api/apichat/f1?tenant=query-value`;
    const client = createTestMessageClient(origin, { botUrl, retry: "any" });
    const error = await failureOf(client.sendText(TEXT));
    expect(error).toMatchObject({ ...expected, operation: "message", attempts: 1 });
    expect(error.message).toContain(text);
    expect(error.message).toContain(`message to ${origin}/api/apichat/f1?tenant=***: `);
    expect(error.message).not.toContain("query-value");
    expect(received).toHaveLength(1);
  });
});

describe.concurrent("the time limit of a message", () => {
  test("ends a call that is never answered, and says that it was sent", async () => {
    const { origin } = await startServer(() => undefined);
    const error = await failureOf(createTestMessageClient(origin, { requestSeconds: 1 }).sendText(TEXT));
    expect(error).toMatchObject({ code: "timeout", operation: "message", attempts: 1 });
    expect(error.message).toContain("no answer within 1 s. The message was sent");
    expect(error.hints).toEqual([{ id: "message_may_be_taken" }, { id: "raise_request_seconds" }]);
  });

  test("ends a connection that cannot be made, and says that nothing was sent", async () => {
    const client = createTestMessageClient(await startDeafListener(), { requestSeconds: 1 });
    const error = await failureOf(client.sendText(TEXT));
    expect(error).toMatchObject({ code: "timeout", attempts: 1 });
    expect(error.message).toContain("The message was not sent");
  });

  test("is one for all attempts together", async () => {
    const { origin, received } = await startServer((_, response, index) =>
      index < 1 ? response.writeHead(503).end() : undefined,
    );
    const error = await failureOf(createTestMessageClient(origin, { requestSeconds: 2 }).sendText(TEXT));
    expect(error).toMatchObject({ code: "timeout", attempts: 2 });
    expect(received).toHaveLength(2);
  });
});

describe.concurrent("an abort signal", () => {
  const reason = new Error("enough");
  const owners: [string, (signal: AbortSignal) => [Partial<MessageClientOptions>, SendOptions]][] = [
    ["the client's", (signal) => [{ signal }, {}]],
    ["the call's", (signal) => [{}, { signal }]],
  ];

  describe.each(owners)("of %s", (_, give) => {
    test("ends a message under way with its reason", async () => {
      const arrived = Promise.withResolvers<void>();
      const { origin } = await startServer(() => arrived.resolve());
      const controller = new AbortController();
      const [clientOptions, callOptions] = give(controller.signal);
      const call = createTestMessageClient(origin, clientOptions).sendText({ ...TEXT, ...callOptions });
      await arrived.promise;
      controller.abort(reason);
      await expect(call).rejects.toBe(reason);
    });

    test("ends a message whose answer has begun", async () => {
      const begun = Promise.withResolvers<void>();
      const { origin } = await startServer((_request, response) => {
        response.writeHead(200, { "content-length": 100 }).write("{", () => begun.resolve());
      });
      const controller = new AbortController();
      const [clientOptions, callOptions] = give(controller.signal);
      const client = createTestMessageClient(origin, clientOptions);
      const call = client.send(textOf(7, "Good morning"), callOptions);
      await begun.promise;
      controller.abort(reason);
      await expect(call).rejects.toBe(reason);
    });

    test("ends the pause between two attempts", async () => {
      const { origin, received } = await startServer((_request, response) =>
        response.writeHead(503, { "retry-after": "30" }).end(),
      );
      const controller = new AbortController();
      const [clientOptions, callOptions] = give(controller.signal);
      const paused = Promise.withResolvers<void>();
      const options = { requestSeconds: 60, onRetry: () => paused.resolve(), ...clientOptions };
      const call = createTestMessageClient(origin, options).sendText({ ...TEXT, ...callOptions });
      await paused.promise;
      controller.abort(reason);
      await expect(call).rejects.toBe(reason);
      expect(received).toHaveLength(1);
    });

    test("that has fired already lets nothing be sent", async () => {
      const { origin, received } = await startServer((_request, response) => response.end());
      const [clientOptions, callOptions] = give(AbortSignal.abort(reason));
      const client = createTestMessageClient(origin, clientOptions);
      await expect(client.sendText({ ...TEXT, ...callOptions })).rejects.toBe(reason);
      expect(received).toEqual([]);
    });
  });
});

/** Every text that a program, a log or a crash reporter may get out of an error. */
const textsIn = (error: ApiChatError): string =>
  [
    error.message,
    error.stack,
    JSON.stringify(error),
    inspect(error, { depth: Infinity, showHidden: true }),
  ].join("\n");

const PRIVATE = {
  sender: { id: "contact-id-98765", name: "Ana Beatriz da Silva" },
  conversationId: 7,
  title: 'Sim, é "urgente" / agora',
  payload: "payload&of=the<button>",
};
const KEPT_BACK = [FLOW_KEY, "query-value", ...Object.values(PRIVATE.sender), PRIVATE.title, PRIVATE.payload];

const ENCODINGS: Record<string, (body: string) => string> = {
  "as it came": (body) => body,
  "as PHP writes it": (body) =>
    body
      .replaceAll("/", "\\/")
      .replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`),
  "within JSON": (body) => JSON.stringify({ error: "bad", input: body }),
  "in base64": (body) => Buffer.from(body).toString("base64"),
  "URL-encoded": encodeURIComponent,
};

describe("neither the flow API key nor the message nor a query value is in the error", () => {
  test.each(Object.entries(ENCODINGS))("of a service that echoes the request %s", async (_, encode) => {
    const { origin } = await startServer(({ headers, path, body }, response) =>
      response.writeHead(422).end(`begin ${encode(headers.authorization ?? "")} ${path} ${encode(body)}`),
    );
    const botUrl = `${origin}/api/apichat/f1?token=query-value`;
    const error = await failureOf(createTestMessageClient(origin, { botUrl }).sendButton(PRIVATE));
    expect(error).toMatchObject({ code: "rejected", httpStatus: 422 });
    expect(error.message).toContain("begin ");
    expect(findSecrets(textsIn(error), KEPT_BACK)).toEqual([]);
  });

  test("of a redirect to an address that holds them", async () => {
    const { origin } = await startServer(({ headers }, response) =>
      response
        .writeHead(307, {
          location: `https://other.example/${encodeURIComponent(headers.authorization ?? "")}`,
        })
        .end(),
    );
    const error = await failureOf(createTestMessageClient(origin).sendButton(PRIVATE));
    expect(error.message).toContain("https://other.example/");
    expect(findSecrets(textsIn(error), KEPT_BACK)).toEqual([]);
  });

  test("of an answer that is no HTTP", async () => {
    const origin = await startTcpServer((socket) => {
      socket.once("data", (request) => socket.end(`NOT-HTTP ${request.toString()}\r\n\r\n`));
    });
    const error = await failureOf(createTestMessageClient(origin).sendButton(PRIVATE));
    expect(error.code).toBe("unavailable");
    expect(findSecrets(textsIn(error), KEPT_BACK)).toEqual([]);
  });

  test("nor does the client show its key", () => {
    const client = createTestMessageClient("https://bots.example");
    expect(findSecrets(inspect(client, { depth: Infinity, showHidden: true }), [FLOW_KEY])).toEqual([]);
  });
});

const about = (content: string, text: string): string => quoteAboutMessage(text, textOf(7, content), []);

describe("what is quoted about a message", () => {
  test("hides a short text where it stands as a word, and leaves other words alone", () => {
    expect(about("hi", '{"error":"this is no text","input":"Hi"}')).toBe(
      '{"error":"this is no text","input":"[redacted]"}',
    );
  });

  test("ends where a long text begins, and is soon done", () => {
    const content = "0123456789 ".repeat(50_000);
    expect(about(content, `${"x".repeat(300)} input:${content}`)).toBe(`${"x".repeat(300)} input:[redacted]`);
    expect(about(content, "no text at all")).toBe("no text at all");
  });

  test("names the media and its sender no more than the text", () => {
    const message = {
      ...textOf(7, ""),
      attachments: [{ file_type: "image", data_url: "https://a.example/ana.png" }],
    };
    const text = "cannot load https://a.example/ana.png of contact-42 (Ana)";
    expect(quoteAboutMessage(text, message as never, [])).toBe(
      "cannot load [redacted] of [redacted] ([redacted])",
    );
  });
});
