import plugins from "@pulumi/pulumi/proto/plugin_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import { describe, expect, test } from "vitest";
import { EngineClient } from "../../../provider/plugin/engine.js";
import { valuesOf } from "../../support/provider-client.js";
import { API_KEY, FOREIGN, GET, OTHER_KEY, startAcme } from "../webhook/harness.js";
import {
  clear,
  failureOf,
  isolatePlugins,
  programOf,
  secret,
  secretsIn,
  startEngine,
  UNKNOWN,
  webhook,
  type Failure,
  type Marked,
} from "./harness.js";

const plugin = isolatePlugins();

async function checkConfig(news: Marked, name = "default"): Promise<{ inputs: Marked; failures: Failure[] }> {
  const urn = `urn:pulumi:dev::shop::pulumi:providers:apichat::${name}`;
  const request = new messages.CheckRequest();
  const answer = await plugin.call<messages.CheckResponse>("checkConfig", request, { urn, news });
  return { inputs: valuesOf(answer.getInputs()), failures: answer.toObject().failuresList };
}

async function diffConfig(olds: Marked, news: Marked) {
  const request = new messages.DiffRequest();
  return (await plugin.call<messages.DiffResponse>("diffConfig", request, { olds, news })).toObject();
}

test("the plugin accepts and returns secrets", async () => {
  const request = new messages.ProviderHandshakeRequest();
  const shaken = await plugin.call<messages.ProviderHandshakeResponse>("handshake", request);
  expect(shaken.getAcceptSecrets()).toBe(true);
  const configure = new messages.ConfigureRequest();
  const configured = await plugin.call<messages.ConfigureResponse>("configure", configure, { args: {} });
  expect(configured.toObject()).toMatchObject({ acceptsecrets: true, supportspreview: true });
});

test("attaching an engine starts a new run, which can delete webhooks that only the last run declared", async () => {
  const started = await startAcme();
  const { id, outs } = await webhook.create(await webhook.checked(programOf(started)));
  const { address } = await startEngine();
  await plugin.call("attach", new plugins.PluginAttach(), { address });
  await webhook.delete(id, outs);
  expect(started.acme.registration).toBeUndefined();
});

describe("lines", () => {
  const weak = { webhookVerificationKey: secret("short-key"), webhookUrl: "https://chat.example/" };
  const args = { ...weak, baseUrl: "https://platform.example/acme", apiKey: secret(API_KEY) };

  test("have a resource and a severity", async () => {
    await webhook.check(args);
    expect(plugin.lines).toEqual([
      { urn: webhook.urn, severity: 2, ephemeral: false, message: expect.stringMatching(/can be guessed/) },
    ]);
  });

  test("go to the attached engine; before the first engine attaches, they are dropped", async () => {
    const next = await startEngine();
    await plugin.call("attach", new plugins.PluginAttach(), { address: next.address });
    await webhook.check(args);
    expect(plugin.lines).toEqual([]);
    expect(next.lines).toHaveLength(1);
    const engine = new EngineClient(undefined);
    await engine.serve(webhook.urn, String, async () => engine.log("warning", "before"));
    engine.attach(next.address);
    await engine.serve(webhook.urn, String, async () => engine.log("warning", "after"));
    expect(next.lines.slice(1).map(({ message }) => message)).toEqual(["after"]);
  });
});

describe("the configuration", () => {
  test.each([
    ["missing", {}],
    ["two empty strings", { baseUrl: "", apiKey: "" }],
    ["complete", { baseUrl: "https://platform.example/acme", apiKey: API_KEY, version: "0.1.0" }],
    ["unknown in a preview", { baseUrl: UNKNOWN, apiKey: secret(UNKNOWN) }],
  ])("may be %s", async (_, news) => {
    const { inputs, failures } = await checkConfig(news);
    expect(failures).toEqual([]);
    expect(clear(inputs)).toEqual(clear(news));
    expect(secretsIn(inputs)).toEqual("apiKey" in news ? ["apiKey"] : []);
  });

  test("is rejected with all problems at once, without secrets", async () => {
    const mixedUp = await checkConfig({ baseUrl: secret(API_KEY), apiKey: `${API_KEY}\n` });
    expect(mixedUp.failures.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^baseUrl: must be an absolute http or https URL, got text that is not shown/),
      expect.stringMatching(/^apiKey: /),
    ]);
    expect(mixedUp.failures.map(({ property }) => property)).toEqual(["", ""]);
    expect((await checkConfig({ baseUrl: 5, apiKey: [] })).failures).toHaveLength(2);
    const { inputs } = await checkConfig({ baseUrl: "https://platform.example/?token=t" });
    expect(secretsIn(inputs)).toEqual(["baseUrl"]);
  });

  test.each<[Marked, name: string, warnings: RegExp]>([
    [{ baseUrl: "https://platform.example/", version: "0.1.0" }, "default", /^$/],
    [{ baseURL: "https://a.example/" }, "default", /^apichat:baseURL .*; use apichat:baseUrl$/],
    [{ api_key: secret(API_KEY) }, "default_0_1_0", /^apichat:api_key .*; use apichat:apiKey$/],
    [{ api_key: secret(API_KEY) }, "explicit", /^$/],
  ])("causes warnings about misspelled names: %j of the provider %s", async (news, name, warnings) => {
    await checkConfig(news, name);
    expect(plugin.lines.map(({ message }) => message).join("\n")).toMatch(warnings);
  });

  test("never causes a replacement, and its diff names a changed key", async () => {
    const olds = { baseUrl: "https://platform.example/acme", apiKey: secret(OTHER_KEY) };
    expect(await diffConfig(olds, olds)).toMatchObject({ changes: 1, diffsList: [], detaileddiffMap: [] });
    const changed = await diffConfig(olds, { apiKey: secret(API_KEY) });
    expect(changed).toMatchObject({ changes: 2, replacesList: [], diffsList: ["baseUrl", "apiKey"] });
    const { ADD, DELETE, UPDATE } = messages.PropertyDiff.Kind;
    expect(Object.fromEntries(changed.detaileddiffMap)).toMatchObject({
      baseUrl: { kind: DELETE },
      apiKey: { kind: UPDATE },
    });
    // If a resource has an alias of the dynamic provider, the engine passes that provider's configuration.
    const foreign = await diffConfig({ __internal: {}, "pulumi:project": "shop" }, olds);
    expect(Object.fromEntries(foreign.detaileddiffMap)).toMatchObject({ baseUrl: { kind: ADD } });
    expect(foreign).toMatchObject({ diffsList: ["baseUrl", "apiKey"], replacesList: [] });
  });
});

test.each([
  ["the configuration", true],
  ["their arguments, which take precedence over the configuration", false],
])("a webhook and the function use %s", async (_, isConfigured) => {
  const { acme, args, actions } = await startAcme();
  const { webhookUrl, webhookVerificationKey } = args;
  expect((await failureOf(plugin.invoke({}))).details).toContain("APICHAT_BASE_URL");
  acme.takeOver(FOREIGN);
  const here = { baseUrl: secret(acme.baseUrl), apiKey: secret(API_KEY) };
  const nowhere = { baseUrl: "http://127.0.0.1:9/acme", apiKey: secret(OTHER_KEY) };
  await plugin.configure(isConfigured ? here : nowhere);
  const given = isConfigured ? {} : here;
  expect(await plugin.invoke({ apiKey: "", ...given })).toMatchObject({ webhookUrl: FOREIGN.webhook_url });
  expect(actions()).toEqual(GET);
  const inputs = await webhook.checked({ webhookUrl, webhookVerificationKey, ...given });
  expect(inputs["baseUrl"]).toEqual(secret(acme.baseUrl));
  expect("apiKey" in inputs).toBe(!isConfigured);
});
