import { randomInt } from "node:crypto";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmulator } from "pulumi-apichat/emulator";
import { expect, onTestFinished, test } from "vitest";
import { ApiChatWebhook } from "../../dist/provider/dynamic.js";
import { providerSource } from "../../dist/provider/lib/resource-class.js";
import { API_KEY, VERIFICATION_KEY, startEndpoint } from "../support/endpoint.js";
import { findSecrets } from "../support/secrets.js";
import { failureOf, startProvider, type Provider } from "./harness.js";

/** Two providers of one run, whose engine has been asked for logs too. */
async function startTwo(folder: string): Promise<[Provider, Provider]> {
  const words = ["-logtostderr", "-v=3", `127.0.0.1:${randomInt(2 ** 47)}`];
  const start = async (): Promise<Provider> => {
    const provider = await startProvider({ words, environment: { TMPDIR: folder } });
    onTestFinished(provider.stop);
    await provider.configure();
    return provider;
  };
  return Promise.all([start(), start()]);
}

test("what one process of a run has adopted, no other one deletes, or has too", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-claims-"));
  onTestFinished(() => rm(folder, { recursive: true, maxRetries: 5 }));
  const emulator = await startEmulator({ workspaces: [{ name: "acme", apiKey: API_KEY }] });
  const endpoint = await startEndpoint();
  onTestFinished(async () => void (await Promise.all([emulator.close(), endpoint.close()])));
  const acme = emulator.workspace("acme");
  const args = {
    __provider: providerSource("ApiChatWebhook"),
    name: "acme",
    baseUrl: acme.baseUrl,
    apiKey: API_KEY,
    webhookUrl: `${endpoint.url}/hook`,
    webhookVerificationKey: VERIFICATION_KEY,
  };
  // The state of an earlier run: this process is of none.
  const { inputs } = await ApiChatWebhook.check({}, args);
  const { id, outs } = await ApiChatWebhook.create(inputs);

  const [adopter, other] = await startTwo(folder);
  await adopter.create((await adopter.check(args)).inputs);
  await other.delete(id, { ...outs });
  expect(acme.registration).toBeDefined();
  expect(other.printed().stdout).toContain('still managed by this program, as "acme"');

  const again = (await other.check({ ...args, name: "again" })).inputs;
  expect((await failureOf(other.create(again))).details).toContain('"acme" and "again"');

  for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const text = file.isFile() ? await readFile(join(file.parentPath, file.name), "utf8") : "";
    expect(findSecrets(text, [API_KEY, VERIFICATION_KEY])).toEqual([]);
  }
});
