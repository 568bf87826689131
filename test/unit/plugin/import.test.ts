import { describe, expect, test } from "vitest";
import { API_KEY, GET, startAcme, type Acme } from "../webhook/harness.js";
import {
  failureOf,
  isolatePlugins,
  programOf,
  resourceOf,
  secret,
  startCreated,
  webhook,
  type Marked,
} from "./harness.js";

const plugin = isolatePlugins();

describe("read", () => {
  test("returns inputs and outputs with their marks, and nothing if the webhook is gone", async () => {
    const { acme, id, inputs, outs, actions } = await startCreated({ preflight: secret("warn") });
    expect(await webhook.read(id, outs, inputs)).toEqual({ id, outs, inputs });
    expect(actions()).toEqual(GET);
    acme.removeRegistration();
    expect(await webhook.read(id, outs, inputs)).toBeUndefined();
  });

  test.each(["ApiChatWebhook", "VerificationKey", "Responder"])(
    "rejects an invalid state, and names the release that a newer state of %s needs",
    async (type) => {
      const { read, diff } = resourceOf(type);
      const later = { stateVersion: 2, neededRelease: "9.9.9" };
      const needs = expect.stringMatching(
        /version 2, .* reads version 1: install pulumi-apichat 9\.9\.9 or newer/,
      );
      expect(await failureOf(read("id", later))).toMatchObject({ details: needs });
      expect(await failureOf(diff("id", later, {}))).toMatchObject({ details: needs });
      expect((await failureOf(read("id", { host: "x" }))).details).toContain("cannot be read by its id");
    },
  );
});

/** Starts with a registration that is in no state. */
async function startForeign(): Promise<Acme & { program: Marked }> {
  const started = await startAcme();
  const { webhookUrl, webhookVerificationKey } = started.args;
  started.acme.takeOver({
    webhook_url: webhookUrl,
    webhook_verification_key: String(webhookVerificationKey),
  });
  await plugin.configure({ apiKey: secret(API_KEY) });
  const { apiKey: _, timeouts: __, ...program } = programOf(started);
  return { ...started, program };
}

describe("an import", () => {
  test("accepts the base URL, or the bot URL of the configured workspace", async () => {
    const { acme, emulator } = await startForeign();
    const byBaseUrl = await webhook.read(acme.baseUrl);
    expect(byBaseUrl?.id).toBe(acme.botUrl);
    expect((await failureOf(webhook.read(acme.botUrl))).details).toMatch(/401.*The id may be/s);
    await plugin.configure({ apiKey: secret(API_KEY), baseUrl: acme.baseUrl });
    const byBotUrl = await webhook.read(acme.botUrl);
    expect(byBotUrl).toMatchObject({ id: acme.botUrl, inputs: { baseUrl: acme.baseUrl } });
    expect((await webhook.read(acme.baseUrl))?.id).toBe(acme.botUrl);
    const details = /reaches the bot \w+, not \w+ of the id.*The id may be/s;
    expect((await failureOf(webhook.read(emulator.workspace("other").botUrl))).details).toMatch(details);
  });

  test("finds nothing in an empty workspace, and reports a wrong key", async () => {
    const { acme } = await startForeign();
    acme.removeRegistration();
    expect(await webhook.read(acme.baseUrl)).toBeUndefined();
    await plugin.configure({ apiKey: secret("ak-other-0123456789") });
    expect((await failureOf(webhook.read(acme.baseUrl))).details).toMatch(/^acme: .*401/s);
    expect((await failureOf(webhook.read("f1f862da"))).details).toMatch(/^acme: .*URL/s);
  });
});
