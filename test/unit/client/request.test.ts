import { describe, expect, test } from "vitest";
import {
  type ApiChatError,
  MessageClient,
  RegistrationClient,
  type RegistrationClientOptions,
} from "../../../provider/client/index.js";
import { diagnoseHandshake } from "../../../provider/diagnosis/index.js";
import { VERSION } from "../../../provider/lib/version.js";
import { startServer } from "../../support/http.js";
import { received, startSilent } from "../emulator/harness.js";
import {
  answerOk,
  API_KEY,
  CALLS,
  createAgent,
  createTestClient,
  createTestMessageClient,
  failureOf,
  REGISTERED,
  textOf,
  VERIFICATION_KEY,
} from "./harness.js";

const webhook = {
  webhookUrl: "https://chat.acme.example/webhooks/apichat?tenant=acme",
  webhookVerificationKey: VERIFICATION_KEY,
};

const startOk = () => startServer((_, response) => answerOk(response));

describe("a request", () => {
  test("contains exactly the fields of its operation as a JSON body, and asks for a JSON response", async () => {
    const { url, requests } = await startOk();
    const client = createTestClient(`${url}/acme/apichat`);
    await client.getWebhook();
    // Other properties of the caller's object are not sent.
    const wider = { ...webhook, name: "acme", email: "a@b.example" };
    await client.setWebhook(wider);
    await client.deleteWebhook();
    expect(requests.map(({ method, path, body }) => [method, path, JSON.parse(body) as unknown])).toEqual([
      ["POST", "/acme/apichat?action=get-webhook", { ChaveApi: API_KEY }],
      [
        "POST",
        "/acme/apichat?action=set-webhook",
        { ChaveApi: API_KEY, webhook_url: webhook.webhookUrl, webhook_verification_key: VERIFICATION_KEY },
      ],
      ["POST", "/acme/apichat?action=delete-webhook", { ChaveApi: API_KEY }],
    ]);
    for (const { headers } of requests) {
      expect(headers).toMatchObject({ "content-type": "application/json", accept: "application/json" });
      expect(headers.authorization).toBeUndefined();
    }
  });

  test.each([
    ["", "/?action=get-webhook"],
    ["/acme?", "/acme?action=get-webhook"],
    ["/acme?tenant=a+b%2Fc&x=%41&empty=&y", "/acme?tenant=a+b%2Fc&x=%41&empty=&y&action=get-webhook"],
    ["/a%2Fb/?q=ü", "/a%2Fb/?q=%C3%BC&action=get-webhook"],
  ])("appends the action to a base URL that ends in %s: %s", async (path, expected) => {
    const { url, requests } = await startOk();
    await createTestClient(url + path).getWebhook();
    expect(requests[0]?.path).toBe(expected);
  });

  test.each([
    ["an invalid webhook URL", { ...webhook, webhookUrl: "chat.example?token=query-value" }],
    ["an empty verification key", { ...webhook, webhookVerificationKey: "" }],
  ])("with %s fails with invalid_config and is not sent", async (_, set) => {
    const { url, requests } = await startOk();
    const error = await failureOf(createTestClient(url).setWebhook(set));
    expect(error).toMatchObject({ code: "invalid_config", operation: "set-webhook", attempts: 0 });
    expect(error.message).not.toContain("query-value");
    expect(requests).toEqual([]);
  });
});

const withOptions = (options: Partial<RegistrationClientOptions>) => () =>
  createTestClient("http://127.0.0.1:9", options);

test.each<[string, () => unknown]>([
  ["apiKey", withOptions({ apiKey: "" })],
  ["apiKey", withOptions({ apiKey: "query-valüe", apiKeyAs: "body-and-bearer" })],
  ["baseUrl", withOptions({ baseUrl: "platform.example?token=query-value" })],
  ["baseUrl", withOptions({ baseUrl: "query-value-as-a-key-in-the-wrong-place" })],
  ["baseUrl", withOptions({ baseUrl: "https://platform.example/acme/apichat?action=query-value" })],
  ["requestSeconds", withOptions({ requestSeconds: 0 })],
  ["requestSeconds", withOptions({ requestSeconds: 2_147_484 })],
  ...["cookie", {}, { header: "" }, { header: "a b" }, { header: "Host" }].map(
    (flowApiKeyAs): [string, () => unknown] => [
      "flowApiKeyAs",
      () => createTestMessageClient("http://bots.example", { flowApiKeyAs } as never),
    ],
  ),
])("a client with a wrong %s is rejected with an invalid_config that names it", async (field, create) => {
  const error = await failureOf((async () => create())());
  expect(error).toMatchObject({ code: "invalid_config", attempts: 0, problems: [{ field }] });
  expect(error.message).not.toMatch(/query-val/);
});

describe("a response", () => {
  test("with data is a registration", async () => {
    const { url } = await startServer((_, response) => answerOk(response, { ...REGISTERED, more: 1 }));
    expect(await createTestClient(url).getWebhook()).toEqual({
      webhookUrl: REGISTERED.webhook_url,
      webhookVerificationKey: REGISTERED.webhook_verification_key,
      status: REGISTERED.webhook_status,
      botUrl: REGISTERED.bot_url,
    });
  });

  test("without data means that nothing is registered", async () => {
    const { url } = await startServer((_, response) => answerOk(response, []));
    expect(await createTestClient(url).getWebhook()).toBeUndefined();
  });
});

test("the user agent of each client and of a preflight names the package and its version", async () => {
  const { url, requests } = await startOk();
  for (const [, call] of CALLS) await call(url);
  await diagnoseHandshake({ url: `${url}/hook`, verificationKey: "a-key-0123456789" });
  const ours = `pulumi-apichat/${VERSION}`;
  const agents = requests.slice(0, 3).map(({ headers }) => headers["user-agent"]);
  expect(agents).toEqual([ours, ours, `${ours} (preflight)`]);
});

/** Returns the result of an operation: `ok`, or the code of its error. */
const outcomeOf = (operation: Promise<unknown>): Promise<string> =>
  operation.then(
    () => "ok",
    (error: ApiChatError) => error.code,
  );

const HI = textOf(7, "hi");

describe("flowApiKeyAs", () => {
  const ways = ["bearer", "raw", "body", { header: "X-Flow" }, { header: "X-Other" }] as const;

  test.each(ways)("%j works only with a service that reads keys sent this way", async (flowApiKeyAs) => {
    for (const flowKey of ways) {
      const { acme } = await startSilent({ flowKey });
      const { botUrl, flowApiKey } = acme;
      const client = new MessageClient({ botUrl, flowApiKey, flowApiKeyAs, dispatcher: createAgent() });
      const isRead = flowKey === flowApiKeyAs;
      expect(await outcomeOf(client.send(HI))).toBe(isRead ? "ok" : "unauthorized");
      expect(received(acme)).toEqual(isRead ? [HI] : []);
    }
  });

  test('"body" allows a key that is invalid in a header, and the error does not show the key', async () => {
    const { url, requests } = await startServer((request, response) =>
      response.writeHead(422).end(JSON.stringify(request.headers) + request.body),
    );
    const client = createTestMessageClient(url, { flowApiKey: "ü key", flowApiKeyAs: "body" });
    expect((await failureOf(client.send(HI))).message).not.toContain("ü key");
    expect(requests[0]?.headers.authorization).toBeUndefined();
    expect(JSON.parse(requests[0]?.body ?? "")).toEqual({ ...HI, ChaveApi: "ü key" });
  });
});

test.each([
  ["body", "body", "ok"],
  ["body", "body-and-bearer", "unauthorized"],
  ["body-and-bearer", "body", "ok"],
  ["body-and-bearer", "body-or-bearer", "ok"],
  ["body-and-bearer", "body-and-bearer", "ok"],
] as const)("apiKeyAs %s with registrationKey %s: %s", async (apiKeyAs, registrationKey, outcome) => {
  const { baseUrl, apiKey } = (await startSilent({ registrationKey })).acme;
  const client = new RegistrationClient({ baseUrl, apiKey, apiKeyAs, dispatcher: createAgent() });
  expect(await outcomeOf(client.getWebhook())).toBe(outcome);
  expect(await outcomeOf(client.deleteWebhook())).toBe(outcome);
});
