import { readFileSync } from "node:fs";
import * as fixture from "../../support/endpoint.js";
import { describe, expect, test } from "vitest";
import { API_KEY, GET, startAcme, type Acme } from "../webhook/harness.js";
import { clear, failureOf, isolatePlugins, secret, startRun, type Marked } from "./harness.js";
import { checked, programOf, startCreated, webhook } from "./webhook.js";

const plugin = isolatePlugins();

describe("read", () => {
  test("gives the same again, with its marks, and nothing once it is gone", async () => {
    const { acme, id, inputs, outs, actions } = await startCreated({ preflight: secret("warn") });
    expect(await webhook.read(id, outs, inputs)).toEqual({ id, outs, inputs });
    expect(actions()).toEqual(GET);
    acme.removeRegistration();
    expect(await webhook.read(id, outs, inputs)).toBeUndefined();
  });

  test("refuses a state of another version, and one that is none", async () => {
    const { id, outs } = await startCreated();
    expect((await failureOf(webhook.read(id, { ...outs, stateVersion: 2 }))).details).toContain("version 2");
    expect((await failureOf(webhook.read(id, { baseUrl: "x" }))).details).toContain("getApiChatWebhook");
    expect((await failureOf(webhook.diff(id, { ...outs, stateVersion: 2 }, outs))).details).toContain(
      "version 2",
    );
  });

  test("says which key was refused, and that it may have been rotated", async () => {
    const { acme, id, outs } = await startCreated();
    acme.apiKey = "ak-rotated-0123456789";
    expect((await failureOf(webhook.read(id, outs))).details).toMatch(/^acme: .*401.*APICHAT_API_KEY/s);
  });
});

/** A registration that no state knows. */
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
  test("of nothing finds nothing, and of another's key says so", async () => {
    const { acme } = await startForeign();
    acme.removeRegistration();
    expect(await webhook.read(acme.baseUrl)).toBeUndefined();
    await plugin.configure({ apiKey: secret("ak-other-0123456789") });
    expect((await failureOf(webhook.read(acme.baseUrl))).details).toMatch(/^acme: .*401/s);
    expect((await failureOf(webhook.read("f1f862da"))).details).toMatch(/^acme: .*URL/s);
  });
});

describe("a state of the dynamic provider", () => {
  test.each(["plain", "shownInAnotherWay"] as const)(
    "(%s) is taken over by one get-webhook",
    async (kind) => {
      const options = kind === "plain" ? {} : { maskKey: true, normalizeUrl: true };
      const started = await startAcme(options);
      started.acme.apiKey = fixture.API_KEY;
      const text = readFileSync(new URL("../../fixtures/state-v1.json", import.meta.url), "utf8")
        .replaceAll("http://platform.invalid", started.emulator.url)
        .replaceAll("http://bots.invalid", started.emulator.botUrl)
        .replaceAll("http://chat.invalid", new URL(started.endpoint.url).origin);
      const state = (JSON.parse(text) as Record<typeof kind, Marked>)[kind];
      const { __provider, name: _name, stateVersion: _version, applied: _applied, botUrl, ...old } = state;
      const [webhookUrl, key] = [String(old["webhookUrl"]), String(old["webhookVerificationKey"])];
      started.acme.takeOver({ webhook_url: webhookUrl, webhook_verification_key: key });
      const { status: _, ...program } = old;
      const marked = { apiKey: secret(old["apiKey"]), webhookVerificationKey: secret(key) };
      const olds = { ...old, ...marked, __provider, name: "acme" };
      const inputs = await checked({ ...program, ...marked }, olds);
      const id = String(botUrl);
      const difference = await webhook.diff(id, { ...state, ...marked }, inputs, { oldInputs: olds });
      expect(difference).toEqual({
        changes: true,
        diffs: ["__provider"],
        replaces: [],
        detailed: { __provider: "DELETE" },
      });
      started.actions();
      const outs = await webhook.update(id, { ...state, ...marked }, inputs);
      expect(started.actions()).toEqual(GET);
      const { __provider: _source, name: __, ...rest } = state;
      const { applied: { url = webhookUrl, ...recorded } = {} } = state as { applied?: Marked };
      expect(clear(outs)).toEqual({ ...rest, applied: { url, botUrl, ...recorded } });
      expect((await webhook.diff(id, outs, inputs)).changes).toBe(false);
      // Read and deleted by the plugin before any update too.
      expect((await webhook.read(id, { ...state, ...marked }, olds))?.outs).toEqual(outs);
      await startRun();
      await webhook.delete(id, { ...state, ...marked });
      expect(started.acme.registration).toBeUndefined();
    },
  );
});
