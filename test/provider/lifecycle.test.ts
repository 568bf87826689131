import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmulator, type Emulator, type EmulatorOptions } from "pulumi-apichat/emulator";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { providerSource } from "../../dist/provider/lib/resource-class.js";
import { API_KEY, VERIFICATION_KEY, startEndpoint, type Endpoint } from "../support/endpoint.js";
import { findSecrets } from "../support/secrets.js";
import { failureOf, partOf, startProvider, type Provider } from "./harness.js";

type Values = Record<string, unknown>;

/** Somebody else's webhook. */
const FOREIGN = {
  webhook_url: "https://foreign.example/",
  webhook_verification_key: "foreign-key-0123456789",
};

let provider: Provider;
let emulator: Emulator;
let endpoint: Endpoint;
let providers: Provider[];
let stops: (() => Promise<unknown>)[];

beforeEach(async () => {
  stops = [];
  providers = [];
  endpoint = await startEndpoint();
  stops.push(() => endpoint.close());
  await serve({});
  await run();
});

afterEach(async () => {
  await Promise.all(stops.map((stop) => stop()));
  for (const { stdout, stderr } of providers.map((each) => each.printed())) {
    const traces = findSecrets(stdout + stderr, [API_KEY, VERIFICATION_KEY]);
    if (traces.length > 0) throw new Error(`a secret was printed: ${traces.join(" ")}`);
    if (/^\s+at /m.test(stderr)) throw new Error(`a stack was printed: ${stderr}`);
  }
});

/** Starts the emulator with the workspace acme. */
async function serve(options: EmulatorOptions): Promise<void> {
  const started = await startEmulator({ workspaces: [{ name: "acme", apiKey: API_KEY }], ...options });
  stops.push(() => started.close());
  emulator = started;
}

/** Starts a provider process: a new run of the engine. */
async function run(options: Parameters<typeof startProvider>[0] = {}): Promise<void> {
  await startProcess(options);
  await provider.configure();
}

async function startProcess(options: Parameters<typeof startProvider>[0] = {}): Promise<void> {
  provider = await startProvider(options);
  providers.push(provider);
  stops.push(provider.stop);
}

const argsOf = (more: Values = {}): Values => ({
  __provider: providerSource("ApiChatWebhook"),
  name: "acme",
  baseUrl: emulator.workspace("acme").baseUrl,
  apiKey: API_KEY,
  webhookUrl: `${endpoint.url}/hook`,
  webhookVerificationKey: VERIFICATION_KEY,
  timeouts: { requestSeconds: 5, readySeconds: 2 },
  ...more,
});

async function create(more: Values = {}): Promise<{ id: string; outs: Values; inputs: Values }> {
  const { inputs, failures } = await provider.check(argsOf(more));
  expect(failures).toEqual([]);
  return { ...(await provider.create(inputs)), inputs };
}

describe("a failure", () => {
  test("of create that is partly done keeps the resource, and update completes it", async () => {
    await serve({ statusAfterSet: "pending" });
    const acme = emulator.workspace("acme");
    const error = await failureOf(create({ timeouts: { requestSeconds: 5, readySeconds: 0.2 } }));
    const part = partOf(error);
    expect(part).toMatchObject({ id: acme.botUrl, properties: { status: "pending", botUrl: acme.botUrl } });
    expect(part?.properties["__provider"]).toBe(providerSource("ApiChatWebhook"));
    expect(part?.reasons).toEqual([expect.stringMatching(/^acme: .*"pending" and not "verified"/)]);

    acme.change({ webhook_status: "verified" });
    const { inputs } = await provider.check(argsOf());
    const properties = part?.properties ?? {};
    expect((await provider.diff(acme.botUrl, properties, inputs)).changes).toBe(true);
    expect(await provider.update(acme.botUrl, properties, inputs)).toMatchObject({ status: "verified" });
  });

  test("to find the package says what to install", async () => {
    const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-bare-"));
    stops.push(() => rm(folder, { recursive: true }));
    await run({ folder });
    for (const call of [
      provider.check(argsOf()),
      provider.read("id", argsOf()),
      provider.delete("id", argsOf()),
    ]) {
      expect((await failureOf(call)).details).toMatch(
        /npm install pulumi-apichat, on Node 22.19\+: Error: Cannot find module 'pulumi-apichat\/dynamic'/,
      );
    }
    const error = await failureOf(provider.create(argsOf()));
    expect(error.details).toContain("npm install pulumi-apichat");
  });
});

describe("many calls at once", () => {
  test("see the configuration, however early they come", async () => {
    const { id, outs } = await create();
    const { apiKey: _, ...state } = outs;
    await startProcess();
    await provider.configure({ "apichat:apiKey": API_KEY });
    // The first one loads the package; the others find the provider in the SDK's cache at once.
    const reads = Array.from({ length: 20 }, () => provider.read(id, state));
    for (const read of await Promise.all(reads)) expect(read.props).toEqual(state);
  });
});

test("the environment's proxy carries the calls", async () => {
  await run({ environment: { HTTP_PROXY: endpoint.url } });
  const error = await failureOf(create());
  // The endpoint of the tests is no proxy: it sees the calls, and refuses them.
  expect(endpoint.requests.some((line) => line.includes(new URL(emulator.url).host))).toBe(true);
  expect(error.details).toMatch(/^acme: get-webhook/);
  expect(emulator.requests).toEqual([]);
});

describe("a state as version 1 wrote it", () => {
  const kinds = ["plain", "shownInAnotherWay"] as const;

  /** The state with the origins of today, and the service as it was when the state was written. */
  async function loadState(kind: (typeof kinds)[number]): Promise<Values & { botUrl: string }> {
    if (kind === "shownInAnotherWay") await serve({ maskKey: true, normalizeUrl: true });
    const text = (await readFile(new URL("../fixtures/state-v1.json", import.meta.url), "utf8"))
      .replaceAll("http://platform.invalid", emulator.url)
      .replaceAll("http://bots.invalid", emulator.botUrl)
      .replaceAll("http://chat.invalid", endpoint.url);
    const state = (JSON.parse(text) as Record<typeof kind, Values & { botUrl: string }>)[kind];
    emulator.workspace("acme").takeOver({
      webhook_url: String(state["webhookUrl"]),
      webhook_verification_key: String(state["webhookVerificationKey"]),
    });
    return state;
  }

  test.each(kinds)("(%s) is read, compared, updated and deleted", async (kind) => {
    const state = await loadState(kind);
    const acme = emulator.workspace("acme");
    const { botUrl: id, stateVersion: _, applied, ...inputs } = state;
    // It did not repeat there what is also an output.
    const outputs = { url: state["webhookUrl"], botUrl: id };
    const props = { ...state, applied: { ...outputs, ...(applied as Values) } };
    expect(await provider.read(id, state)).toEqual({ id, props, inputs });
    expect(await provider.diff(id, state, inputs)).toEqual({ changes: false, replaces: [] });
    expect(await provider.update(id, state, inputs)).toEqual(props);
    expect(emulator.requests.map(({ action }) => action)).not.toContain("set-webhook");
    const moved = await provider.update(id, state, { ...inputs, webhookUrl: `${endpoint.url}/moved` });
    expect(acme.registration?.webhook_url).toBe(`${endpoint.url}/moved`);
    acme.takeOver(FOREIGN);
    await provider.delete(id, moved);
    expect(acme.registration).toMatchObject(FOREIGN);
    acme.takeOver({ webhook_url: `${endpoint.url}/moved`, webhook_verification_key: VERIFICATION_KEY });
    await provider.delete(id, moved);
    expect(acme.registration).toBeUndefined();
  });
});
