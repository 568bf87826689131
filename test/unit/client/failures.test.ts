import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import type { Agent } from "undici";
import { describe, expect, test } from "vitest";
import { RESPONSE_LIMIT_BYTES } from "../../../provider/client/call.js";
import type { ApiChatErrorCode, Retry } from "../../../provider/client/index.js";
import type { ApiChatError, Hint } from "../../../provider/errors/index.js";
import { type Received, startServer, startTcpServer } from "../../support/http.js";
import { findSecrets } from "../../support/secrets.js";
import {
  API_KEY,
  CALLS,
  createAgent,
  createTestClient,
  createTestMessageClient,
  failureOf,
  FLOW_KEY,
  textOf,
  textsOf,
  VERIFICATION_KEY,
} from "./harness.js";

const JSON_ERROR = '{"status":"error","message":"no"}';
const WITH_KEY = `bad key ${API_KEY}`;

const BUTTON = {
  sender: { id: "contact-id-98765", name: "Ana Beatriz da Silva" },
  conversationId: 7,
  title: 'Sim, ü "urgente" / agora',
  payload: "payload&of=the<button>",
};

/**
 * For each client: a call to an address with a query, the hints that its errors have, and the secrets that
 * its errors must not contain.
 */
const CLIENTS = [
  {
    operation: "set-webhook",
    call: (origin: string, options?: Parameters<typeof createTestClient>[1]) =>
      createTestClient(`${origin}/acme?token=base-url-token`, options).setWebhook({
        webhookUrl: "https://chat.example/hook?token=webhook-token",
        webhookVerificationKey: VERIFICATION_KEY,
      }),
    at: (origin: string) => `set-webhook at ${origin}/acme?token=***: `,
    hints: { key: [{ id: "give_api_key" }, { id: "check_base_url" }], gone: [{ id: "check_base_url" }] },
    address: "baseUrl",
    secrets: [API_KEY, VERIFICATION_KEY, "base-url-token", "webhook-token"],
  },
  {
    operation: "message",
    call: (origin: string, options?: Parameters<typeof createTestMessageClient>[1]) => {
      const botUrl = `${origin}/f1?token=query-value`;
      return createTestMessageClient(origin, { botUrl, ...options }).sendButton(BUTTON);
    },
    at: (origin: string) => `message to ${origin}/f1?token=***: `,
    hints: { key: [{ id: "check_flow_api_key" }], gone: [{ id: "read_bot_url" }] },
    address: "botUrl",
    secrets: [FLOW_KEY, "query-value", ...Object.values(BUTTON.sender), BUTTON.title, BUTTON.payload],
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
  ])("fails at once for HTTP %i %s: %s", async (status, body, code, expected) => {
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
  ])("fails at once for a redirect with the Location %s", async (location, shown) => {
    const headers = location === undefined ? {} : { location };
    const { url } = await startServer((_, response) => response.writeHead(302, headers).end());
    const error = await failureOf(call(url));
    expect(error).toMatchObject({ code: "protocol", operation, httpStatus: 302, attempts: 1 });
    expect(error.hints).toEqual([{ id: "set_final_address", address }]);
    expect(error.message).toContain(`${shown}, which is not followed`);
    expect(error.message).not.toContain("query-value");
  });
});

describe("an HTTP 200 response", () => {
  test.each<[string, ApiChatErrorCode, string]>([
    ['{"status":"ok"', "protocol", "not JSON"],
    [`<p>Maintenance</p> ${WITH_KEY}`, "protocol", "Maintenance"],
    ["", "protocol", "empty"],
    [JSON_ERROR, "rejected", JSON_ERROR],
    ['{"status":""}', "rejected", '{"status":""}'],
    [JSON.stringify({ status: "error", message: WITH_KEY }), "rejected", "bad key"],
    [JSON.stringify({ status: "error", body: JSON.stringify({ key: API_KEY }) }), "rejected", "key"],
    ...['{"data":{}}', "null", "[]", '"ok"', JSON.stringify({ status: 1, message: WITH_KEY })].map(
      (body): [string, ApiChatErrorCode, string] => [body, "protocol", "the specified envelope"],
    ),
    ['{"status":"ok","data":"x"}', "protocol", "the specified envelope"],
    ['{"status":"ok","data":{"webhook_url":1}}', "protocol", "the specified envelope"],
  ])("with the body %s causes the error code %s, and the API key is not shown", async (body, code, text) => {
    const { url } = await startServer((_, response) => response.end(body));
    const error = await failureOf(createTestClient(url).getWebhook());
    expect(error).toMatchObject({ code, attempts: 1 });
    expect(error.message).toContain(text);
    expect(findSecrets(textsOf(error), [API_KEY, "0123456789"])).toEqual([]);
  });

  test("is read only up to a size limit", async () => {
    const broken = Promise.withResolvers<void>();
    const { url } = await startServer((_, response) => {
      response.on("close", broken.resolve);
      writeWithoutEnd(response);
    });
    const error = await failureOf(createTestClient(url, { requestSeconds: 10 }).getWebhook());
    expect(error).toMatchObject({ code: "protocol", attempts: 1 });
    expect(error.message).toContain(`larger than ${RESPONSE_LIMIT_BYTES} bytes`);
    await broken.promise;
  });
});

/** Writes as fast as the other side reads, until that side closes the connection. */
function writeWithoutEnd(response: ServerResponse): void {
  while (!response.destroyed && response.write("x".repeat(64 * 1024)));
  if (!response.destroyed) response.once("drain", () => writeWithoutEnd(response));
}

test("a message is not sent again if a 2xx response rejects it in its body", async () => {
  const { url, requests } = await startServer((_, response) => response.end(JSON_ERROR));
  const error = await failureOf(createTestMessageClient(url).send(textOf(7, "hello there")));
  expect(error).toMatchObject({ code: "rejected", httpStatus: 200, attempts: 1, hints: [] });
  expect(error.message).toContain(JSON_ERROR);
  expect(requests).toHaveLength(1);
});

/** The start of a response body that contains somebody else's registration. */
const frameOf = (url: string): string =>
  `{"status":"ok","data":{"webhook_url":"${url}","webhook_verification_key":"vk-of-somebody-else"`;

describe("a quoted body", () => {
  const VALUE = "qv-Geheim.0123";
  const SHOWN_URL = `https://chat.example/hook?token=${VALUE}&next=1`;
  const all = SHOWN_URL.replace(/./g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  test.each([
    ["cut off", frameOf(SHOWN_URL)],
    ["cut off, with \\u003f", frameOf(SHOWN_URL.replaceAll("?", "\\u003f").replaceAll("=", "\\u003D"))],
    ["with every character escaped", frameOf(all)],
    ["whole", `${frameOf(SHOWN_URL)}}}`],
    ["percent-encoded", `url ${encodeURIComponent(SHOWN_URL)} is not reachable`],
    ["in HTML", `<a href='${SHOWN_URL.replaceAll("?", "&#63;").replaceAll("=", "&#x3d;")}'>retry</a>`],
    ["as a form", new URLSearchParams({ url: SHOWN_URL }).toString()],
    ["as text", `cannot reach ${SHOWN_URL}`],
    ["in JSON within JSON", `{"got":${JSON.stringify(`${frameOf(SHOWN_URL)}}}`)}}`],
    ["nested too deeply", `${"[".repeat(20_000)}"${all}"${"]".repeat(20_000)}`],
  ])("contains neither query values nor somebody else's key: %s", async (_, body) => {
    const { url } = await startServer((__, response) => response.writeHead(400).end(body));
    const texts = textsOf(await failureOf(createTestClient(url).getWebhook()));
    for (const hidden of [VALUE, "Geheim", "vk-of-somebody-else", "\\u0047\\u0065"])
      expect(texts).not.toContain(hidden);
  });

  test.each([
    ['{"message":"Chave inv\\u00e1lida. Onde?"}', '{"message":"Chave inválida. Onde?"}'],
    [`first\r\nsecond\u001b[31m ${"x".repeat(600)}`, `first second\\u001b[31m ${"x".repeat(482)}`],
  ])("without secrets is shown on one line, short, in printable characters: %.20s", async (body, shown) => {
    const { url } = await startServer((_, response) => response.writeHead(422).end(body));
    const { message } = await failureOf(createTestClient(url).getWebhook());
    expect(message).toContain(`HTTP 422: ${shown}`);
    expect(message).not.toContain("x".repeat(500));
  });
});

describe.each(CALLS)("%s fails at once", (operation, call) => {
  const notFound = Object.assign(new Error("getaddrinfo ENOTFOUND service.example"), { code: "ENOTFOUND" });
  const dispatcher = createAgent({ connect: { lookup: (_host, _options, done) => done(notFound, []) } });

  test.each<[string, string, () => Promise<string>, { dispatcher?: Agent }]>([
    ["the name does not resolve", "ENOTFOUND", async () => "http://service.example", { dispatcher }],
    [
      "the service speaks plain http",
      "the server does not speak TLS on this port (ERR_SSL_WRONG_VERSION_NUMBER)",
      async () => (await startServer()).url.replace("http:", "https:"),
      {},
    ],
  ])("if %s", async (_, text, start, options) => {
    const error = await failureOf(call(await start(), options));
    expect(error).toMatchObject({ code: "unavailable", operation, attempts: 1 });
    expect(error.summary).toContain(text);
    expect(error.message).not.toMatch(/openssl|when the service is up/i);
    const address = operation === "message" ? "botUrl" : "baseUrl";
    expect(error.hints.at(-1)).toEqual({ id: "check_address", address });
    expect(error.hints.some(({ id }) => id === "message_not_sent")).toBe(operation === "message");
  });
});

/** Returns a request's path, key and body as received. */
const echoOf = ({ path, headers, body }: Received): string => `${path} ${headers.authorization} ${body}`;

describe.each(CLIENTS)("an error of $operation shows no secrets", ({ call, secrets }) => {
  test.each([400, 401, 302])("even if a response with the status %i echoes the request", async (status) => {
    const { url } = await startServer((request, response) => {
      const location = `https://other.example/${encodeURIComponent(echoOf(request))}`;
      response.writeHead(status, { location }).end(`begin ${echoOf(request)} end`);
    });
    const error = await failureOf(call(url));
    expect(findSecrets(textsOf(error), secrets)).toEqual([]);
    expect(error.message).toContain(status === 302 ? "https://other.example/" : "begin ");
  });

  test("even if a response that is not HTTP echoes the request", async () => {
    const { url } = await startTcpServer((socket) =>
      socket.once("data", (request) => socket.end(`NOT-HTTP ${request.toString()}\r\n\r\n`)),
    );
    const errors: ApiChatError[] = [];
    const onRetry = ({ error }: Retry): void => void errors.push(error as ApiChatError);
    errors.push(await failureOf(call(url, { onRetry })));
    expect(errors[0]).toMatchObject({ code: "unavailable", attempts: 1 });
    for (const error of errors) expect(findSecrets(textsOf(error), secrets)).toEqual([]);
  });
});

test("inspecting a client shows no key", () => {
  const clients = [createTestClient("https://a.example"), createTestMessageClient("https://b.example")];
  const text = inspect(clients, { depth: Infinity, showHidden: true });
  expect(findSecrets(text, [API_KEY, FLOW_KEY])).toEqual([]);
});
