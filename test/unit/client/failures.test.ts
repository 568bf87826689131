import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { ANSWER_LIMIT_BYTES } from "../../../provider/client/attempt.js";
import type { ApiChatErrorCode } from "../../../provider/client/index.js";
import type { Hint } from "../../../provider/errors/index.js";
import { startServer, startTcpServer } from "../../support/http.js";
import { CALLS, createAgent, createTestClient, createTestMessageClient, failureOf, TO } from "./harness.js";

const JSON_ERROR = '{"status":"error","message":"no"}';

/** A call of each client, at an address with a query, and the hints that it gives. */
const CLIENTS = [
  {
    operation: "get-webhook",
    call: (origin: string) => createTestClient(`${origin}/acme?tenant=query-value`).getWebhook(),
    at: (origin: string) => `get-webhook at ${origin}/acme?tenant=***: `,
    hints: { key: [{ id: "give_api_key" }], gone: [{ id: "check_base_url" }] },
    address: "baseUrl",
  },
  {
    operation: "message",
    call: (origin: string) =>
      createTestMessageClient(origin, { botUrl: `${origin}/f1?tenant=query-value`, retry: "any" }).sendText({
        ...TO,
        text: "Good morning",
      }),
    at: (origin: string) => `message to ${origin}/f1?tenant=***: `,
    hints: { key: [{ id: "check_flow_api_key" }], gone: [{ id: "read_bot_url" }] },
    address: "botUrl",
  },
] as const;

describe.each(CLIENTS)("$operation", ({ operation, call, at, hints, address }) => {
  test.each<[number, string, ApiChatErrorCode, readonly Hint[]]>([
    [401, JSON_ERROR, "unauthorized", hints.key],
    [403, "", "unauthorized", hints.key],
    [400, JSON_ERROR, "rejected", []],
    [404, "nothing here", "rejected", hints.gone],
    [410, "", "rejected", hints.gone],
    [422, JSON_ERROR, "rejected", []],
    [501, "", "rejected", []],
  ])("answered with HTTP %i %s fails at once: %s", async (status, body, code, expected) => {
    const { url, requests } = await startServer((_, response) => response.writeHead(status).end(body));
    const error = await failureOf(call(url));
    expect(error).toMatchObject({ code, operation, httpStatus: status, attempts: 1, hints: expected });
    expect(error.summary).toBe(`${at(url)}HTTP ${status}${body && `: ${body}`}`);
    expect(requests).toHaveLength(1);
  });

  test.each([
    ["https://other.example/path?token=query-value", "https://other.example/path?token=***"],
    ["/moved?token=query-value", "/moved?token=***"],
    [undefined, "nowhere"],
  ])("redirected to %s fails at once", async (location, shown) => {
    const headers = location === undefined ? {} : { location };
    const { url } = await startServer((_, response) => response.writeHead(302, headers).end());
    const error = await failureOf(call(url));
    expect(error).toMatchObject({ code: "protocol", operation, httpStatus: 302, attempts: 1 });
    expect(error.hints).toEqual([{ id: "set_final_address", address }]);
    expect(error.message).toContain(`${shown}, which is not followed`);
    expect(error.message).not.toContain("query-value");
  });
});

describe("an answer with HTTP 200", () => {
  test.each<[string, ApiChatErrorCode, string]>([
    ['{"status":"ok"', "protocol", "not JSON"],
    ["<p>Maintenance</p>", "protocol", "Maintenance"],
    ["", "protocol", "empty"],
    [JSON_ERROR, "rejected", JSON_ERROR],
    ['{"status":""}', "rejected", '{"status":""}'],
    ...['{"data":{}}', "null", "[]", '"ok"', '{"status":1}'].map(
      (body): [string, ApiChatErrorCode, string] => [body, "protocol", "not an envelope"],
    ),
    ['{"status":"ok","data":"x"}', "protocol", "not an envelope"],
    ['{"status":"ok","data":{"webhook_url":1}}', "protocol", "not an envelope"],
  ])("and %s is no success: %s", async (body, code, text) => {
    const { url } = await startServer((_, response) => response.end(body));
    const error = await failureOf(createTestClient(url).getWebhook());
    expect(error).toMatchObject({ code, attempts: 1 });
    expect(error.message).toContain(text);
  });

  test("may be of 1 MiB", async () => {
    const frame = JSON.stringify({ status: "ok", pad: "" });
    const pad = "x".repeat(ANSWER_LIMIT_BYTES - frame.length);
    const { url } = await startServer((_, response) => response.end(JSON.stringify({ status: "ok", pad })));
    expect(ANSWER_LIMIT_BYTES).toBe(1024 * 1024);
    expect(await createTestClient(url).getWebhook()).toBeUndefined();
  });

  test("may not be longer, and is not read to its end", async () => {
    const broken = Promise.withResolvers<void>();
    const { url } = await startServer((_, response) => {
      response.on("close", broken.resolve);
      writeWithoutEnd(response);
    });
    const error = await failureOf(createTestClient(url, { requestSeconds: 10 }).getWebhook());
    expect(error).toMatchObject({ code: "protocol", attempts: 1 });
    expect(error.message).toContain(`larger than ${ANSWER_LIMIT_BYTES} bytes`);
    await broken.promise;
  });
});

/** Writes as fast as it is read, until the other side has had enough. */
function writeWithoutEnd(response: ServerResponse): void {
  while (!response.destroyed && response.write("x".repeat(64 * 1024)));
  if (!response.destroyed) response.once("drain", () => writeWithoutEnd(response));
}

test("the body of a refusal is quoted on one line, cut, without what could drive a terminal", async () => {
  const { url } = await startServer((_, response) =>
    response.writeHead(400).end(`first\r\nsecond\u001b[31m ${"x".repeat(600)}`),
  );
  const { message } = await failureOf(createTestClient(url).getWebhook());
  expect(message).toMatch(/first second \[31m x{450,490}…$/);
});

describe.each(CALLS)("%s fails at once", (operation, call) => {
  test("where the name does not resolve", async () => {
    const notFound = Object.assign(new Error("getaddrinfo ENOTFOUND service.example"), { code: "ENOTFOUND" });
    const dispatcher = createAgent({ connect: { lookup: (_host, _options, done) => done(notFound, []) } });
    const error = await failureOf(call("http://service.example", { dispatcher }));
    expect(error).toMatchObject({ code: "unavailable", operation, attempts: 1 });
    expect(error.facts).toMatchObject({ connection: "ENOTFOUND" });
    const address = operation === "message" ? "botUrl" : "baseUrl";
    expect(error.hints.at(-1)).toEqual({ id: "check_connection", address });
    expect(error.hints.some(({ id }) => id === "message_not_sent")).toBe(operation === "message");
  });

  test("where no TLS is spoken", async () => {
    const { url } = await startTcpServer((socket) => {
      socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n"));
    });
    const error = await failureOf(call(url.replace("http:", "https:")));
    expect(error).toMatchObject({ code: "unavailable", attempts: 1 });
  });
});
