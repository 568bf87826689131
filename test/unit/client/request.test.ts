import { describe, expect, test } from "vitest";
import { startEmulator } from "../../../provider/emulator/index.js";
import {
  API_KEY,
  REGISTERED,
  VERIFICATION_KEY,
  answerJson,
  answerOk,
  createAgent,
  createTestClient,
  failureOf,
  startServer,
} from "./harness.js";

const webhook = {
  webhookUrl: "https://chat.acme.example/webhooks/apichat?tenant=acme",
  webhookVerificationKey: VERIFICATION_KEY,
};

describe("a request", () => {
  test("holds exactly the fields of its operation, as JSON, and asks for JSON", async () => {
    const { origin, received } = await startServer((_, response) => answerOk(response));
    const client = createTestClient(`${origin}/acme/apichat`);
    await client.getWebhook();
    await client.setWebhook(webhook);
    await client.deleteWebhook();
    expect(received.map(({ method, path, body }) => [method, path, JSON.parse(body) as unknown])).toEqual([
      ["POST", "/acme/apichat?action=get-webhook", { ChaveApi: API_KEY }],
      [
        "POST",
        "/acme/apichat?action=set-webhook",
        {
          ChaveApi: API_KEY,
          webhook_url: webhook.webhookUrl,
          webhook_verification_key: VERIFICATION_KEY,
        },
      ],
      ["POST", "/acme/apichat?action=delete-webhook", { ChaveApi: API_KEY }],
    ]);
    for (const { headers } of received) {
      expect(headers["content-type"]).toBe("application/json");
      expect(headers.accept).toBe("application/json");
      expect(headers.authorization).toBeUndefined();
    }
  });

  test("does not send what else its caller's object holds", async () => {
    const { origin, received } = await startServer((_, response) => answerOk(response));
    const wider = { ...webhook, name: "acme", workspace: "w1", email: "a@b.example" };
    await createTestClient(origin).setWebhook(wider);
    expect(Object.keys(JSON.parse(received[0]?.body ?? "") as object)).toEqual([
      "ChaveApi",
      "webhook_url",
      "webhook_verification_key",
    ]);
  });

  test.each([
    ["/acme", "/acme?action=get-webhook"],
    ["", "/?action=get-webhook"],
    ["/acme?", "/acme?action=get-webhook"],
    ["/acme?tenant=a+b%2Fc&x=%41&empty=&y", "/acme?tenant=a+b%2Fc&x=%41&empty=&y&action=get-webhook"],
    ["/a%2Fb/?q=ü", "/a%2Fb/?q=%C3%BC&action=get-webhook"],
  ])("to a base URL ending in %s goes to %s", async (path, expected) => {
    const { origin, received } = await startServer((_, response) => answerOk(response));
    await createTestClient(origin + path).getWebhook();
    expect(received[0]?.path).toBe(expected);
  });

  test("goes through the dispatcher that was given", async () => {
    const { origin, received } = await startServer((_, response) => answerOk(response));
    const { port } = new URL(origin);
    const seen: string[] = [];
    const dispatcher = createAgent({
      connect: { lookup: (_host, _options, done) => done(null, [{ address: "127.0.0.1", family: 4 }]) },
    }).compose((dispatch) => (options, handler) => {
      seen.push(`${options.method} ${options.path}`);
      return dispatch(options, handler);
    });
    await createTestClient(`http://service.example:${port}/acme`, { dispatcher }).getWebhook();
    expect(seen).toEqual(["POST /acme?action=get-webhook"]);
    expect(received[0]?.headers.host).toBe(`service.example:${port}`);
  });

  test("uses the connections of earlier ones", async () => {
    const ports = new Set<number | undefined>();
    const { origin } = await startServer((_, response) => {
      ports.add(response.socket?.remotePort);
      answerOk(response);
    });
    const client = createTestClient(origin);
    for (let call = 0; call < 6; call += 1) await client.getWebhook();
    // A call may begin before the connection of the last one is free again.
    expect(ports.size).toBeLessThanOrEqual(2);
  });

  test.each([
    ["a webhook URL that is none", { ...webhook, webhookUrl: "chat.example?token=query-value" }],
    ["an empty verification key", { ...webhook, webhookVerificationKey: "" }],
  ])("with %s is not sent: invalid_config", async (_, set) => {
    const { origin, received } = await startServer((_request, response) => answerOk(response));
    const error = await failureOf(createTestClient(origin).setWebhook(set));
    expect(error).toMatchObject({ code: "invalid_config", operation: "set-webhook", attempts: 0 });
    expect(error.message).not.toContain("query-value");
    expect(received).toEqual([]);
  });
});

test.each([
  ["apiKey", { apiKey: "" }],
  ["baseUrl", { baseUrl: "platform.example?token=query-value" }],
  ["requestSeconds", { requestSeconds: 0 }],
  ["requestSeconds", { requestSeconds: 2_147_484 }],
])("a client with a wrong %s is refused: invalid_config, naming it", async (name, options) => {
  const error = await failureOf((async () => createTestClient("http://127.0.0.1:9", options))());
  expect(error).toMatchObject({ code: "invalid_config", attempts: 0 });
  expect(error.message).toContain(`${name}: `);
  expect(error.message).not.toContain("query-value");
});

describe("an answer", () => {
  test("is given as a registration", async () => {
    const { origin } = await startServer((_, response) => answerOk(response, { ...REGISTERED, more: 1 }));
    expect(await createTestClient(origin).getWebhook()).toEqual({
      webhookUrl: REGISTERED.webhook_url,
      webhookVerificationKey: VERIFICATION_KEY,
      status: "verified",
      botUrl: REGISTERED.bot_url,
    });
  });

  test.each([
    ["null", null],
    ["[]", []],
    ["{}", {}],
    ["missing", undefined],
    ["empty strings", { webhook_url: "", webhook_verification_key: "", webhook_status: "", bot_url: "" }],
  ])("whose data is %s means nothing registered", async (_, data) => {
    const { origin } = await startServer((_request, response) =>
      answerJson(response, { status: "ok", data }),
    );
    expect(await createTestClient(origin).getWebhook()).toBeUndefined();
  });

  test("may have an unknown status and missing fields", async () => {
    const { origin } = await startServer((_, response) =>
      answerOk(response, { webhook_url: "https://a.example/", webhook_status: "pending" }),
    );
    expect(await createTestClient(origin).getWebhook()).toEqual({
      webhookUrl: "https://a.example/",
      webhookVerificationKey: "",
      status: "pending",
      botUrl: "",
    });
  });
});

test("the three operations work against the emulator, with a query of the base URL's own", async () => {
  const emulator = await startEmulator({
    workspaces: [{ name: "acme", apiKey: API_KEY, baseUrlQuery: "tenant=a%20b" }],
    handshake: { encoding: "json" },
  });
  try {
    const { origin } = await startServer(({ body }, response) =>
      response.end((JSON.parse(body) as { hub_challenge: string }).hub_challenge),
    );
    const acme = emulator.workspace("acme");
    const client = createTestClient(acme.baseUrl);
    expect(await client.getWebhook()).toBeUndefined();
    const set = await client.setWebhook({ ...webhook, webhookUrl: `${origin}/hook` });
    expect(set).toMatchObject({ webhookUrl: `${origin}/hook`, status: "verified", botUrl: acme.botUrl });
    expect(await client.getWebhook()).toEqual(set);
    expect(await client.deleteWebhook()).toBeUndefined();
    expect(acme.registration).toBeUndefined();
  } finally {
    await emulator.close();
  }
});
