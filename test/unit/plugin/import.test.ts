import { expect, test } from "vitest";
import { API_KEY, startAcme, type Acme } from "../webhook/harness.js";
import { failureOf, isolatePlugins, resourceOf, secret, webhook } from "./harness.js";

// For an import, and for an SDK's `get`, the engine calls read with an ID but no state.

const plugin = isolatePlugins();

/** Starts an emulator on which a webhook is registered that no state contains. */
async function startRegistered(): Promise<Acme> {
  const started = await startAcme();
  const { webhookUrl, webhookVerificationKey } = started.args;
  started.acme.takeOver({ webhook_url: webhookUrl, webhook_verification_key: webhookVerificationKey });
  await plugin.configure({ apiKey: secret(API_KEY) });
  return started;
}

test("an import's ID can be a base URL, or the bot URL of the workspace whose base URL is configured", async () => {
  const { acme, emulator } = await startRegistered();
  expect((await webhook.read(acme.baseUrl))?.id).toBe(acme.botUrl);
  expect((await failureOf(webhook.read(acme.botUrl))).details).toMatch(/401.*The ID must be the base URL/s);
  await plugin.configure({ apiKey: secret(API_KEY), baseUrl: acme.baseUrl });
  const byBotUrl = await webhook.read(acme.botUrl);
  expect(byBotUrl).toMatchObject({ id: acme.botUrl, inputs: { baseUrl: acme.baseUrl } });
  expect((await webhook.read(acme.baseUrl))?.id).toBe(acme.botUrl);
  const details = /reaches the bot \w+, not \w+ as in the ID.*The ID must be/s;
  expect((await failureOf(webhook.read(emulator.workspace("other").botUrl))).details).toMatch(details);
});

test("an import finds nothing if no webhook is registered, and reports a wrong key", async () => {
  const { acme } = await startRegistered();
  acme.removeRegistration();
  expect(await webhook.read(acme.baseUrl)).toBeUndefined();
  await plugin.configure({ apiKey: secret("ak-other-0123456789") });
  expect((await failureOf(webhook.read(acme.baseUrl))).details).toMatch(/^acme: .*401/s);
  expect((await failureOf(webhook.read("f1f862da"))).details).toMatch(/^acme: .*URL/s);
});

test.each(["ApiChatWebhook", "VerificationKey", "Responder"])(
  "an invalid state of %s is rejected; for a newer state, the error names the release that it needs",
  async (type) => {
    const { read, diff } = resourceOf(type);
    const later = { stateVersion: 2, neededRelease: "9.9.9" };
    const needs = /version 2, .* reads version 1: install pulumi-apichat 9\.9\.9 or newer/;
    expect((await failureOf(read("id", later))).details).toMatch(needs);
    expect((await failureOf(diff("id", later, {}))).details).toMatch(needs);
    expect((await failureOf(read("id", { host: "x" }))).details).toContain("cannot be read by its ID");
  },
);
