import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { quoteAboutMessage } from "../../../provider/client/message-client.js";
import { startServer, startTcpServer, type Received } from "../../support/http.js";
import { findSecrets, SPELLINGS } from "../../support/secrets.js";
import {
  API_KEY,
  createTestClient,
  createTestMessageClient,
  failureOf,
  FLOW_KEY,
  textOf,
  textsOf,
  VERIFICATION_KEY,
} from "./harness.js";

const BUTTON = {
  sender: { id: "contact-id-98765", name: "Ana Beatriz da Silva" },
  conversationId: 7,
  title: 'Sim, ü "urgente" / agora',
  payload: "payload&of=the<button>",
};

/** A call of each client, and what no error of it may show. */
const CLIENTS = [
  {
    name: "a registration client",
    call: (origin: string) =>
      createTestClient(`${origin}/acme?token=base-url-token`).setWebhook({
        webhookUrl: "https://chat.example/hook?token=webhook-token",
        webhookVerificationKey: VERIFICATION_KEY,
      }),
    secrets: [API_KEY, VERIFICATION_KEY, "base-url-token", "webhook-token"],
  },
  {
    name: "a message client",
    call: (origin: string) =>
      createTestMessageClient(origin, { botUrl: `${origin}/f1?token=query-value` }).sendButton(BUTTON),
    secrets: [FLOW_KEY, "query-value", ...Object.values(BUTTON.sender), BUTTON.title, BUTTON.payload],
  },
];

/** The whole request, as it came. */
const echoOf = ({ path, headers, body }: Received): string => `${path} ${headers.authorization} ${body}`;

describe.each(CLIENTS)("an error of $name shows none of its secrets", ({ call, secrets }) => {
  test.each([400, 401, 302])("where HTTP %i echoes the request", async (status) => {
    const { url } = await startServer((request, response) => {
      const location = `https://other.example/${encodeURIComponent(echoOf(request))}`;
      response.writeHead(status, { location }).end(`begin ${echoOf(request)} end`);
    });
    const error = await failureOf(call(url));
    expect(findSecrets(textsOf(error), secrets)).toEqual([]);
    expect(error.message).toContain(status === 302 ? "https://other.example/" : "begin ");
  });

  test.each(Object.entries(SPELLINGS))("where the service spells them %s", async (_, spell) => {
    const { url } = await startServer((_request, response) =>
      response.writeHead(422).end(`begin ${secrets.map(spell).join(" and ")} end`),
    );
    const error = await failureOf(call(url));
    expect(findSecrets(textsOf(error), secrets)).toEqual([]);
    for (const secret of secrets) expect(textsOf(error)).not.toContain(spell(secret).slice(0, 24));
    expect(error.message).toMatch(/begin .*\[redacted\].* end/);
  });

  test("where the service echoes them in what is no HTTP", async () => {
    const { url } = await startTcpServer((socket) =>
      socket.once("data", (request) => socket.end(`NOT-HTTP ${request.toString()}\r\n\r\n`)),
    );
    const error = await failureOf(call(url));
    expect(error.code).toBe("unavailable");
    expect(findSecrets(textsOf(error), secrets)).toEqual([]);
  });
});

test.each<[string, (key: string) => string]>([
  ["in no JSON", (key) => `bad key ${key}`],
  ["in an envelope", (key) => JSON.stringify({ status: "error", message: `bad key ${key}` })],
  ["in a wrong shape", (key) => JSON.stringify({ status: 1, message: `bad key ${key}` })],
  ["in JSON in an envelope", (key) => JSON.stringify({ status: "error", body: JSON.stringify({ key }) })],
])("an error does not show the API key that HTTP 200 echoes %s", async (_, body) => {
  const { url } = await startServer((_request, response) => response.end(body(API_KEY)));
  const text = textsOf(await failureOf(createTestClient(url).getWebhook()));
  expect(findSecrets(text, [API_KEY])).toEqual([]);
  expect(text).not.toContain("0123456789");
});

test("neither client shows its key", () => {
  const clients = [createTestClient("https://a.example"), createTestMessageClient("https://b.example")];
  const text = inspect(clients, { depth: Infinity, showHidden: true });
  expect(findSecrets(text, [API_KEY, FLOW_KEY])).toEqual([]);
});

const about = (content: string, text: string): string => quoteAboutMessage(text, textOf(7, content), []);

describe("what is quoted about a message", () => {
  test("hides a short text where it stands as a word, and no other words", () => {
    expect(about("hi", '{"error":"this is no text","input":"Hi"}')).toBe(
      '{"error":"this is no text","input":"[redacted]"}',
    );
  });

  test("ends where a long text begins", () => {
    const content = "0123456789 ".repeat(50_000);
    expect(about(content, `${"x".repeat(300)} input:${content}`)).toBe(`${"x".repeat(300)} input:[redacted]`);
    expect(about(content, "no text at all")).toBe("no text at all");
  });

  test("names neither the media nor its sender", () => {
    const attachments = [{ file_type: "image", data_url: "https://a.example/ana.png" }];
    const text = "cannot load https://a.example/ana.png of contact-42 (Ana)";
    expect(quoteAboutMessage(text, { ...textOf(7, ""), attachments } as never, [])).toBe(
      "cannot load [redacted] of [redacted] ([redacted])",
    );
  });
});
