import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { ApiChatError } from "../../../provider/client/index.js";
import { findSecrets, SPELLINGS } from "../../support/secrets.js";
import {
  API_KEY,
  VERIFICATION_KEY,
  createTestClient,
  failureOf,
  startServer,
  startTcpServer,
} from "./harness.js";

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

describe.each(Object.entries(SPELLINGS))("a key that the service echoes %s", (_, encode) => {
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
