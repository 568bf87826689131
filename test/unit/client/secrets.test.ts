import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { ApiChatError } from "../../../provider/client/index.js";
import { quote, redactSecrets } from "../../../provider/redact.js";
import { findSecrets } from "../../support/secrets.js";
import {
  API_KEY,
  VERIFICATION_KEY,
  createTestClient,
  failureOf,
  startServer,
  startTcpServer,
} from "./harness.js";

const unicodeEscape = (c: string): string => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
const jsonOf = (text: string): string => JSON.stringify(text).slice(1, -1);

/** A secret as the encoders of other languages write it. */
const ENCODINGS: Record<string, (secret: string) => string> = {
  "as it is": (secret) => secret,
  "as JSON": jsonOf,
  "as JSON of PHP, with \\/ and \\u00fc": (secret) =>
    jsonOf(secret).replaceAll("/", "\\/").replace(/ü/g, unicodeEscape),
  "as JSON of Go, with \\u0026": (secret) => jsonOf(secret).replace(/[&<>]/g, unicodeEscape),
  "as JSON within JSON": (secret) => jsonOf(jsonOf(secret)),
  "URL-encoded": encodeURIComponent,
  "URL-encoded in lower case": (secret) =>
    encodeURIComponent(secret).replace(/%../g, (escape) => escape.toLowerCase()),
  "URL-encoded in full": (secret) =>
    [...Buffer.from(secret)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
  "as a form": (secret) => new URLSearchParams({ s: secret }).toString().slice(2),
  "in base64": (secret) => Buffer.from(secret).toString("base64"),
  "in base64url": (secret) => Buffer.from(secret).toString("base64url"),
  "in the base64 of the whole request": (secret) =>
    Buffer.from(`{"ChaveApi":"${secret}","webhook_url":""}`).toString("base64"),
  "in hex": (secret) => Buffer.from(secret).toString("hex").toUpperCase(),
  "as HTML": (secret) =>
    secret
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("'", "&#39;"),
  "as HTML of Python": (secret) =>
    secret
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&#34;")
      .replaceAll("'", "&#x27;"),
};

/** Every text that a program, a log or a crash reporter may get out of an error. */
function textsOf(error: ApiChatError): string {
  return [
    error.message,
    error.stack,
    JSON.stringify(error),
    inspect(error, { depth: Infinity, showHidden: true }),
  ].join("\n");
}

/** What an attentive reader would recognise: a run of the secret's own characters. */
const CORE = "0123456789";

describe.each(Object.entries(ENCODINGS))("a key that the service echoes %s", (_, encode) => {
  test.each([
    ["a refusal", 400],
    ["no authority", 401],
    ["no JSON", 200],
  ])("is not in the error of %s", async (_name, status) => {
    const { origin } = await startServer((_request, response) =>
      response.writeHead(status).end(`begin ${encode(API_KEY)} and ${encode(VERIFICATION_KEY)} end`),
    );
    const error = await failureOf(
      createTestClient(origin).setWebhook({
        webhookUrl: "https://chat.example/",
        webhookVerificationKey: VERIFICATION_KEY,
      }),
    );
    const text = textsOf(error);
    expect(findSecrets(text, [API_KEY, VERIFICATION_KEY])).toEqual([]);
    expect(text).not.toContain(CORE);
    expect(text).not.toContain(encode(API_KEY).slice(0, 24));
    expect(error.message).toMatch(/begin .*\[redacted\].* end/);
  });

  test("is taken out of a text, and the rest of it stays", () => {
    expect(redactSecrets(`a ${encode(API_KEY)} z`, [API_KEY])).toMatch(/^a .*\[redacted\].* z$/);
  });
});

describe("a key that the service echoes", () => {
  test.each<[string, (key: string) => string]>([
    ["in an envelope", (key) => JSON.stringify({ status: "error", message: `bad key ${key}` })],
    ["in a wrong shape", (key) => JSON.stringify({ status: 1, message: `bad key ${key}` })],
    [
      "in JSON within an envelope",
      (key) => JSON.stringify({ status: "error", body: JSON.stringify({ key }) }),
    ],
  ])("%s is not in the error", async (_, body) => {
    const { origin } = await startServer((_request, response) => response.end(body(API_KEY)));
    const error = await failureOf(createTestClient(origin).getWebhook());
    expect(findSecrets(textsOf(error), [API_KEY])).toEqual([]);
    expect(textsOf(error)).not.toContain(CORE);
  });

  test("in a redirect's target is not in the error", async () => {
    const { origin } = await startServer((_, response) =>
      response.writeHead(302, { location: `https://other.example/${encodeURIComponent(API_KEY)}` }).end(),
    );
    const error = await failureOf(createTestClient(origin).getWebhook());
    expect(findSecrets(textsOf(error), [API_KEY])).toEqual([]);
    expect(error.message).toContain("https://other.example/");
  });

  test("in an answer that is no HTTP is not in the error, nor in its causes", async () => {
    const origin = await startTcpServer((socket) => {
      socket.once("data", () => socket.end(`NOT-HTTP ${API_KEY}\r\n\r\n`));
    });
    const error = await failureOf(createTestClient(origin, { requestSeconds: 0.3 }).getWebhook());
    expect(error.code).toBe("unavailable");
    expect(findSecrets(textsOf(error), [API_KEY])).toEqual([]);
  });
});

test("query values of the base URL and the webhook URL are not in the error, also when echoed", async () => {
  const { origin } = await startServer(({ path, body }, response) =>
    response.writeHead(422).end(`POST ${path} ${body}`),
  );
  const error = await failureOf(
    createTestClient(`${origin}/acme?token=base-url-token`).setWebhook({
      webhookUrl: "https://chat.example/hook?token=webhook-token",
      webhookVerificationKey: VERIFICATION_KEY,
    }),
  );
  expect(error.message).toContain("https://chat.example/hook?token=[redacted]");
  expect(findSecrets(textsOf(error), ["base-url-token", "webhook-token", API_KEY, VERIFICATION_KEY])).toEqual(
    [],
  );
});

test("the client itself shows no key", () => {
  const client = createTestClient("https://platform.example/");
  expect(findSecrets(inspect(client, { depth: Infinity, showHidden: true }), [API_KEY])).toEqual([]);
});

describe("redaction", () => {
  test("skips empty secrets and leaves other text alone", () => {
    expect(redactSecrets("nothing here", ["", "secret"])).toBe("nothing here");
    expect(redactSecrets("nothing here", [])).toBe("nothing here");
  });

  test("takes out the longer of two secrets that begin alike", () => {
    expect(redactSecrets("abc abcdef", ["abc", "abcdef"])).toBe("[redacted] [redacted]");
  });

  test("takes a secret of pattern characters literally", () => {
    expect(redactSecrets("a.*b axxb", ["a.*b"])).toBe("[redacted] axxb");
  });

  test("stands secrets with a lone surrogate, emoji or backslashes", () => {
    for (const secret of ["a\ud800bcdefgh", "key-😀-0123", "back\\slash\\0123", "\\".repeat(40)]) {
      for (const echoed of [secret, JSON.stringify(secret).slice(1, -1)]) {
        expect(redactSecrets(`<${echoed}>`, [secret])).toBe("<[redacted]>");
      }
    }
  });

  test("stays quick over a long text of nearly the secret", () => {
    // Of this thread alone: what else the machine does is not counted.
    const before = process.threadCpuUsage();
    redactSecrets("\\".repeat(100_000), [`${"\\".repeat(40)}b`]);
    redactSecrets("a".repeat(1_000_000), [`${"a".repeat(60)}b`]);
    const { user, system } = process.threadCpuUsage(before);
    // Several times what it takes; a pattern that goes through the rest of the text at every place takes far longer.
    expect((user + system) / 1000).toBeLessThan(5000);
  });

  test("comes before the cut, so that no half of a secret is left", () => {
    expect(quote(`${"x".repeat(490)}${API_KEY}`, [API_KEY])).toBe(`${"x".repeat(490)}[redacted]`);
  });
});
