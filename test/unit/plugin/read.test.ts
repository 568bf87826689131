import { readFileSync } from "node:fs";
import { IMPORTED_KEY } from "../../../provider/webhook/contract.js";
import * as fixture from "../../support/endpoint.js";
import { describe, expect, test } from "vitest";
import { API_KEY, GET, startAcme, startRun, VERIFICATION_KEY, type Acme } from "../webhook/harness.js";
import { clear, failureOf, isolatePlugins, secret, secretsIn, type Marked } from "./harness.js";
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
  test("by the base URL gives the inputs without the key, and the next up makes no request", async () => {
    const { acme, actions } = await startForeign();
    const read = await webhook.read(acme.baseUrl);
    expect(actions()).toEqual(GET);
    const { id, inputs = {}, outs = {} } = read ?? {};
    expect(id).toBe(acme.botUrl);
    expect(clear(inputs)).toEqual({
      baseUrl: acme.baseUrl,
      webhookUrl: acme.registration?.webhook_url,
      webhookVerificationKey: IMPORTED_KEY,
      status: "verified",
    });
    // A digest under a key that everybody knows could be tried out.
    expect(secretsIn(outs)).toEqual(["applied", "webhookVerificationKey"]);
    const again = await checked(inputs, inputs);
    expect(again).toEqual(inputs);
    expect(plugin.lines.map(({ message }) => message).join("\n")).toContain(
      "webhookVerificationKey is not known",
    );
    expect((await webhook.diff(acme.botUrl, outs, again, { oldInputs: inputs })).changes).toBe(false);
    expect(await webhook.read(acme.botUrl, outs, inputs)).toEqual({ id, outs, inputs });
    expect(actions()).toEqual(GET);
  });

  test("with the key in the program is an update that writes nothing", async () => {
    const { acme, actions, program } = await startForeign();
    const { inputs = {}, outs = {} } = (await webhook.read(acme.baseUrl)) ?? {};
    const news = await checked(program, inputs);
    const difference = await webhook.diff(acme.botUrl, outs, news, { oldInputs: inputs });
    expect(difference).toMatchObject({ changes: true, detailed: { webhookVerificationKey: "UPDATE" } });
    actions();
    const updated = await webhook.update(acme.botUrl, outs, news);
    expect(actions()).toEqual(GET);
    expect(clear(updated)).toMatchObject({ webhookVerificationKey: VERIFICATION_KEY, botUrl: acme.botUrl });
    expect((await webhook.diff(acme.botUrl, updated, news)).changes).toBe(false);
  });

  test("never sets the placeholder", async () => {
    const { acme, actions, args } = await startForeign();
    const { inputs = {}, outs = {} } = (await webhook.read(acme.baseUrl)) ?? {};
    const moved = { ...inputs, webhookUrl: `${args.webhookUrl}/moved` };
    expect((await webhook.check(moved, inputs)).failures).toMatchObject([{ property: "" }]);
    const { status: _, ...fresh } = inputs;
    expect((await webhook.check(fresh)).failures).toMatchObject([{ property: "" }]);
    actions();
    expect((await failureOf(webhook.update(acme.botUrl, outs, moved))).details).toContain("after an import");
    const drifted = { ...moved, webhookVerificationKey: "(the service holds another key)" };
    expect((await failureOf(webhook.update(acme.botUrl, outs, drifted))).details).toContain("ignoreChanges");
    expect(actions()).not.toContain("set-webhook");
  });

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
      expect(clear(outs)).toEqual(rest);
      expect((await webhook.diff(id, outs, inputs)).changes).toBe(false);
      // Read and deleted by the plugin before any update too.
      expect((await webhook.read(id, { ...state, ...marked }, olds))?.outs).toEqual(outs);
      startRun();
      await webhook.delete(id, { ...state, ...marked });
      expect(started.acme.registration).toBeUndefined();
    },
  );
});
