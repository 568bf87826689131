import { startEmulator, type Emulator, type EmulatorOptions } from "pulumi-apichat/emulator";
import { expect, onTestFinished, test } from "vitest";
import { providerSource } from "../../dist/provider/pulumi/class-arguments.js";
import { unmark } from "../support/dynamic.js";
import { API_KEY, VERIFICATION_KEY, startEndpoint } from "../support/endpoint.js";
import { failureOf, partOf } from "../support/provider-client.js";
import { findSecrets } from "../support/secrets.js";
import { startProvider, type Provider } from "./harness.js";
import { makeFolder } from "../support/folder.ts";

type Values = Record<string, unknown>;

/** Starts a provider process for a new run of the engine. Its output must have no secrets or stack traces. */
async function startRun(options: Parameters<typeof startProvider>[0] = {}): Promise<Provider> {
  const provider = await startProvider(options);
  onTestFinished(async () => {
    await provider.stop();
    const { stdout, stderr } = provider.printed;
    expect(findSecrets(stdout + stderr, [API_KEY, VERIFICATION_KEY])).toEqual([]);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
  return provider;
}

/** Starts the emulator with the workspace acme, and an endpoint. */
async function startAcme(options: EmulatorOptions = {}): Promise<{ emulator: Emulator; args: Values }> {
  const emulator = await startEmulator({ workspaces: [{ name: "acme", apiKey: API_KEY }], ...options });
  const endpoint = await startEndpoint();
  onTestFinished(async () => {
    await Promise.all([emulator.close(), endpoint.close()]);
  });
  const args = {
    __provider: providerSource("ApiChatWebhook"),
    name: "acme",
    baseUrl: emulator.workspace("acme").baseUrl,
    apiKey: API_KEY,
    webhookUrl: `${endpoint.url}/hook`,
    webhookVerificationKey: VERIFICATION_KEY,
    timeouts: { requestSeconds: 5, readySeconds: 2 },
  };
  return { emulator, args };
}

test("if a webhook is not verified in time, create fails but returns the resource's state", async () => {
  const { emulator, args } = await startAcme({ statusAfterSet: "pending" });
  const provider = await startRun();
  const { botUrl } = emulator.workspace("acme");
  const { inputs } = await provider.check({ ...args, timeouts: { requestSeconds: 5, readySeconds: 0.2 } });
  const part = partOf(await failureOf(provider.create(inputs)));
  const source = { __provider: providerSource("ApiChatWebhook") };
  expect(part).toMatchObject({ id: botUrl, properties: { status: "pending", botUrl, ...source } });
  expect(part?.reasons).toEqual([expect.stringMatching(/^acme: .*"pending", not "verified"/)]);
});

test("if the package is missing, each call fails with a command that installs it", async () => {
  const { args } = await startAcme();
  const folder = await makeFolder();
  const provider = await startRun({ folder });
  const { check, read, create } = provider;
  for (const call of [check(args), read("id", args), provider.delete("id", args), create(args)]) {
    expect((await failureOf(call)).details).toContain("npm install pulumi-apichat, on Node 22.19+: Error: ");
  }
});

test("if the first calls are made at the same time, all of them see the configuration", async () => {
  const { args } = await startAcme();
  const first = await startRun();
  const { inputs } = await first.check(args);
  const { id, outs } = await first.create(inputs);
  const { apiKey: _, ...state } = unmark(outs) as Values;
  const provider = await startRun();
  await provider.configure({ "apichat:apiKey": API_KEY });
  // The first call loads the package. Meanwhile, the others already find the provider in the SDK's cache.
  const reads = Array.from({ length: 20 }, () => provider.read(id, state));
  for (const read of await Promise.all(reads)) expect(unmark(read?.outs)).toEqual(state);
});
