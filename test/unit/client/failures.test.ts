import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { ANSWER_LIMIT_BYTES } from "../../../provider/client/attempt.js";
import {
  answerJson,
  answerOk,
  createAgent,
  createTestClient,
  failureOf,
  startServer,
  startTcpServer,
} from "./harness.js";

type Respond = (response: ServerResponse) => void;

const respondWith =
  (status: number, body: string, headers: Record<string, string> = {}): Respond =>
  (response) =>
    response.writeHead(status, headers).end(body);

const JSON_ERROR = '{"status":"error","message":"no"}';

describe("an answer that is not a success", () => {
  test.each<[string, Respond, { code: string; httpStatus?: number }, string]>([
    [
      "401",
      respondWith(401, JSON_ERROR),
      { code: "unauthorized", httpStatus: 401 },
      "one per external system",
    ],
    ["403", respondWith(403, ""), { code: "unauthorized", httpStatus: 403 }, "APICHAT_API_KEY"],
    ["400", respondWith(400, JSON_ERROR), { code: "rejected", httpStatus: 400 }, JSON_ERROR],
    ["404", respondWith(404, "nothing here"), { code: "rejected", httpStatus: 404 }, "nothing here"],
    ["409", respondWith(409, ""), { code: "rejected", httpStatus: 409 }, "HTTP 409"],
    ["422", respondWith(422, JSON_ERROR), { code: "rejected", httpStatus: 422 }, "HTTP 422"],
    ["501", respondWith(501, ""), { code: "rejected", httpStatus: 501 }, "HTTP 501"],
    [
      "a redirect",
      respondWith(302, "", { location: "https://other.example/path?token=query-value" }),
      { code: "protocol", httpStatus: 302 },
      "https://other.example/path?token=***",
    ],
    [
      "a redirect to a path",
      respondWith(308, "", { location: "/moved?token=query-value" }),
      { code: "protocol", httpStatus: 308 },
      "/moved?token=***",
    ],
    ["a redirect to nowhere", respondWith(301, ""), { code: "protocol", httpStatus: 301 }, "nowhere"],
    ["not JSON", respondWith(200, '{"status":"ok"'), { code: "protocol", httpStatus: 200 }, "not JSON"],
    ["HTML", respondWith(200, "<p>Maintenance</p>"), { code: "protocol", httpStatus: 200 }, "Maintenance"],
    ["empty", respondWith(200, ""), { code: "protocol", httpStatus: 200 }, "empty"],
    ["204", respondWith(204, ""), { code: "protocol", httpStatus: 204 }, "empty"],
    ["another status", respondWith(200, JSON_ERROR), { code: "rejected" }, JSON_ERROR],
    ["an empty status", respondWith(200, '{"status":""}'), { code: "rejected" }, '{"status":""}'],
    ["no envelope", respondWith(200, '{"data":{}}'), { code: "protocol" }, "not an envelope"],
    ["null", respondWith(200, "null"), { code: "protocol" }, "not an envelope"],
    ["a list", respondWith(200, "[]"), { code: "protocol" }, "not an envelope"],
    ["a string", respondWith(200, '"ok"'), { code: "protocol" }, "not an envelope"],
    ["a status that is no text", respondWith(200, '{"status":1}'), { code: "protocol" }, "not an envelope"],
    [
      "data that is a string",
      respondWith(200, '{"status":"ok","data":"x"}'),
      { code: "protocol" },
      "envelope",
    ],
    [
      "a field that is no text",
      respondWith(200, '{"status":"ok","data":{"webhook_url":1}}'),
      { code: "protocol" },
      "envelope",
    ],
  ])("(%s) fails at once", async (_, respond, expected, text) => {
    const { origin, received } = await startServer((_request, response) => respond(response));
    const error = await failureOf(createTestClient(`${origin}/acme?tenant=query-value`).getWebhook());
    expect(error).toMatchObject({ ...expected, operation: "get-webhook", attempts: 1 });
    expect(error.message).toContain(text);
    expect(error.message).toContain(`get-webhook at ${origin}/acme?tenant=***`);
    expect(error.message).not.toContain("query-value");
    expect(received).toHaveLength(1);
  });

  test.each([408, 429, 500, 502, 503, 504])("(%i) is retried, then unavailable", async (status) => {
    const { origin, received } = await startServer((_, response) => answerJson(response, {}, status));
    const error = await failureOf(createTestClient(origin, { requestSeconds: 0.5 }).getWebhook());
    expect(error).toMatchObject({ code: "unavailable", httpStatus: status, attempts: received.length });
    expect(error.message).toContain(`HTTP ${status}`);
    expect(received.length).toBeGreaterThan(1);
  });

  test("quotes the body on one line, cut, without what could drive a terminal", async () => {
    const { origin } = await startServer((_, response) =>
      response.writeHead(400).end(`first\r\nsecond\u001b[31m ${"x".repeat(600)}`),
    );
    const { message } = await failureOf(createTestClient(origin).getWebhook());
    expect(message).toContain("first second [31m xxx");
    expect(message).not.toMatch(/\p{Cc}/u);
    expect(message).toMatch(/x{450,490}…$/);
  });
});

/** An envelope of this many bytes. */
const pad = (bytes: number): string => {
  const frame = JSON.stringify({ status: "ok", pad: "" });
  return JSON.stringify({ status: "ok", pad: "x".repeat(bytes - frame.length) });
};

/** Writes as fast as it is read, until the other side has had enough. */
function writeWithoutEnd(response: ServerResponse): void {
  while (!response.destroyed && response.write("x".repeat(64 * 1024)));
  if (!response.destroyed) response.once("drain", () => writeWithoutEnd(response));
}

describe("an answer's size", () => {
  test("may be 1 MiB", async () => {
    const { origin } = await startServer((_, response) => response.end(pad(ANSWER_LIMIT_BYTES)));
    expect(ANSWER_LIMIT_BYTES).toBe(1024 * 1024);
    expect(await createTestClient(origin).getWebhook()).toBeUndefined();
  });

  test("may not be more, and is not read to its end", async () => {
    const broken = Promise.withResolvers<void>();
    const { origin, received } = await startServer((_, response) => {
      response.on("close", broken.resolve);
      writeWithoutEnd(response);
    });
    const error = await failureOf(createTestClient(origin, { requestSeconds: 10 }).getWebhook());
    expect(error).toMatchObject({ code: "protocol", attempts: 1 });
    expect(error.message).toContain(`larger than ${ANSWER_LIMIT_BYTES} bytes`);
    expect(received).toHaveLength(1);
    await broken.promise;
  });
});

describe("a connection that fails for good", () => {
  test("fails at once where the name does not resolve", async () => {
    const notFound = Object.assign(new Error("getaddrinfo ENOTFOUND service.example"), { code: "ENOTFOUND" });
    let lookups = 0;
    const dispatcher = createAgent({
      connect: {
        lookup: (_host, _options, done) => {
          lookups += 1;
          done(notFound, []);
        },
      },
    });
    const error = await failureOf(createTestClient("http://service.example/", { dispatcher }).getWebhook());
    expect(error).toMatchObject({ code: "unavailable", attempts: 1 });
    expect(error.message).toContain("ENOTFOUND");
    expect(lookups).toBe(1);
  });

  test("fails at once where no TLS is spoken", async () => {
    let connections = 0;
    const origin = await startTcpServer((socket) => {
      connections += 1;
      socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n"));
    });
    const error = await failureOf(createTestClient(origin.replace("http:", "https:")).getWebhook());
    expect(error).toMatchObject({ code: "unavailable", attempts: 1 });
    expect(connections).toBe(1);
  });

  test("is retried where nothing listens, and named", async () => {
    const { origin } = await startServer((_, response) => answerOk(response));
    const dispatcher = createAgent({
      connect: (_options, done) =>
        done(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }), null),
    });
    const error = await failureOf(createTestClient(origin, { dispatcher, requestSeconds: 0.4 }).getWebhook());
    expect(error).toMatchObject({ code: "unavailable" });
    expect(error.attempts).toBeGreaterThan(1);
    expect(error.message).toContain("ECONNREFUSED");
  });
});
