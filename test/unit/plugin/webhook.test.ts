import { describe, expect, test } from "vitest";
import { FOREIGN, GET, SET, startAcme } from "../webhook/harness.js";
import {
  clear,
  failureOf,
  isolatePlugins,
  partOf,
  programOf,
  resourceOf,
  secret,
  secretsIn,
  startCreated,
  UNKNOWN,
  webhook,
  type Marked,
} from "./harness.js";

const plugin = isolatePlugins();
const { checked } = webhook;
const SECRET_OUTPUTS = ["apiKey", "applied", "webhookVerificationKey"];

test("create registers, and stores inputs and registration without the resource's name", async () => {
  const started = await startAcme();
  const inputs = await checked(programOf(started));
  const { id, outs } = await webhook.create(inputs);
  const { acme } = started;
  expect(id).toBe(acme.botUrl);
  expect(clear(outs)).toEqual({
    ...clear(inputs),
    botUrl: acme.botUrl,
    stateVersion: 1,
    applied: {
      url: started.args.webhookUrl,
      botUrl: acme.botUrl,
      apiKey: expect.any(String),
      claimId: expect.any(String),
    },
  });
  expect(secretsIn(outs)).toEqual(SECRET_OUTPUTS);
  expect(started.actions()).toEqual(SET);
});

test("create returns a partial state with the program's marks", async () => {
  const started = await startAcme({ statusAfterSet: "pending" });
  const { webhookUrl } = started.args;
  const timeouts = { requestSeconds: 3, readySeconds: 0.1 };
  const given = programOf(started, { webhookUrl: secret(webhookUrl), timeouts });
  const error = await failureOf(webhook.create(await checked(given)));
  const part = partOf(error);
  const { botUrl } = started.acme;
  expect(part?.id).toBe(botUrl);
  expect(clear(part?.properties ?? {})).toMatchObject({ status: "pending", botUrl });
  expect(clear(part?.properties ?? {})).not.toHaveProperty("name");
  expect(secretsIn(part?.properties)).toEqual([...SECRET_OUTPUTS, "webhookUrl"].toSorted());
  const reason = /^acme: .*"pending".* Registered now: \[redacted\]/;
  expect(part?.reasons).toEqual([expect.stringMatching(reason)]);
  expect(error.details).toMatch(reason);
});

test("the preview of create writes nothing, knows the bot of an adoption, and fails with its conflict", async () => {
  const started = await startAcme();
  const { acme, args } = started;
  const inputs = await checked(programOf(started));
  const preview = () => webhook.create(inputs, { preview: true });
  const { id, outs } = await preview();
  expect(id).toBe("");
  expect(clear(outs)).toEqual({ ...clear(inputs), status: "verified", botUrl: UNKNOWN });
  expect(secretsIn(outs)).toEqual(["apiKey", "webhookVerificationKey"]);
  expect(plugin.lines).toEqual([]);
  acme.takeOver({ webhook_url: args.webhookUrl, webhook_verification_key: args.webhookVerificationKey });
  expect((await preview()).outs["botUrl"]).toBe(acme.botUrl);
  const message = expect.stringMatching(/^adopts /) as string;
  expect(plugin.lines).toEqual([{ urn: webhook.urn, severity: 1, ephemeral: false, message }]);
  acme.takeOver(FOREIGN);
  expect((await failureOf(preview())).details).toContain("nothing was written");
  expect(started.actions()).toEqual([...GET, ...GET, ...GET]);
});

test("diff shows each change with its kind, including secrets, and never replaces", async () => {
  const { id, inputs, outs } = await startCreated({ preflight: "warn" });
  const { preflight: _, ...less } = inputs;
  const changes: [Marked, Record<string, string>][] = [
    [inputs, {}],
    [{ ...inputs, webhookUrl: "https://moved.example/" }, { webhookUrl: "UPDATE" }],
    [{ ...inputs, apiKey: secret("another-key-0123456789") }, { apiKey: "UPDATE" }],
    [{ ...inputs, onExisting: "replace" }, { onExisting: "ADD" }],
    [less, { preflight: "DELETE" }],
  ];
  for (const [news, detailed] of changes) {
    const diffs = Object.keys(detailed);
    const expected = { changes: diffs.length > 0, diffs, replaces: [], detailed };
    expect(await webhook.diff(id, outs, news, { oldInputs: inputs })).toEqual(expected);
    expect((await webhook.diff(id, outs, news, { oldInputs: inputs, ignore: diffs })).changes).toBe(false);
  }
  // A state of the dynamic provider.
  expect((await webhook.diff(id, { ...outs, __provider: "source" }, inputs)).diffs).toEqual(["__provider"]);
});

test("the preview of update knows all outputs, and warns of a failure", async () => {
  const { acme, id, inputs, outs, actions } = await startCreated();
  acme.takeOver(FOREIGN);
  const news = { ...inputs, preflight: "off" };
  const preview = await webhook.update(id, outs, news, { preview: true });
  expect(clear(preview)).toEqual({ ...clear(news), status: "verified", botUrl: acme.botUrl });
  expect(plugin.lines).toMatchObject([
    { severity: 2, message: expect.stringMatching(/will fail/) as string },
  ]);
  expect(actions()).toEqual(GET);
});

test("read returns inputs and outputs with their marks, and nothing if the webhook is gone", async () => {
  const { acme, id, inputs, outs, actions } = await startCreated({ preflight: secret("warn") });
  expect(await webhook.read(id, outs, inputs)).toEqual({ id, outs, inputs });
  expect(actions()).toEqual(GET);
  acme.removeRegistration();
  expect(await webhook.read(id, outs, inputs)).toBeUndefined();
});

test("read hides a URL in a drift if the program marks it as secret", async () => {
  const started = await startAcme();
  const given = programOf(started, { webhookUrl: secret(started.args.webhookUrl) });
  const inputs = await checked(given);
  const { id, outs } = await webhook.create(inputs);
  started.acme.change({ webhook_url: FOREIGN.webhook_url });
  const seen = await webhook.read(id, outs, inputs);
  const hidden = ["webhookUrl", "drift.0.expected", "drift.0.actual", ...SECRET_OUTPUTS];
  expect(secretsIn(seen?.outs)).toEqual(expect.arrayContaining(hidden));
});

test("carries out a pending delete that has the type of the dynamic provider", async () => {
  const { id, outs, acme } = await startCreated();
  const moved = resourceOf("ApiChatWebhook", "acme", "pulumi-nodejs:dynamic/apichat");
  await moved.delete(id, { ...outs, __provider: "source", name: "acme" });
  expect(acme.registration).toBeUndefined();
});

describe("an operation that takes too long", () => {
  test("ends at the end of the run, and its state contains what may be registered", async () => {
    const { acme, emulator, inputs, id, outs, endpoint } = await startCreated();
    const other = resourceOf("ApiChatWebhook", "other");
    const { baseUrl } = emulator.workspace("other");
    const fault = { delayMs: 600_000, afterChange: true };
    emulator.injectFault({ operation: "set-webhook", every: 1, fault });
    const moved = `${endpoint.url}/moved`;
    const begun = [
      failureOf(webhook.update(id, outs, { ...inputs, webhookUrl: secret(moved), timeouts: {} })),
      failureOf(other.create({ ...inputs, baseUrl, apiKey: secret("ak-other-0123456789"), timeouts: {} })),
    ];
    await expect.poll(() => acme.registration?.webhook_url).toBe(moved);
    await expect.poll(() => emulator.workspace("other").registration).toBeDefined();
    await plugin.cancel();
    const [updated, created] = await Promise.all(begun);
    const part = partOf(updated!)?.properties ?? {};
    expect(clear(part)).toMatchObject({ webhookUrl: inputs["webhookUrl"], applied: { attempted: [moved] } });
    expect(secretsIn(part)).toEqual([...SECRET_OUTPUTS, "webhookUrl"].toSorted());
    // Its bot is unknown, so there is no state; the next `up` adopts it.
    expect(partOf(created!)).toBeUndefined();
    for (const error of [updated, created])
      expect(error!.details).toMatch(/^(acme|other): .*the run was ended/);
    expect((await failureOf(plugin.invoke({ baseUrl, apiKey: "x" }))).details).toContain("the run was ended");
  });

  test("ends at the limit of customTimeouts", async () => {
    const started = await startAcme();
    started.emulator.injectFault({ operation: "get-webhook", every: 1, fault: { delayMs: 600_000 } });
    const late = webhook.create(await checked(programOf(started, { timeouts: {} })), { timeout: 0.2 });
    expect((await failureOf(late)).details).toMatch(
      /0\.2 s of customTimeouts, while waiting for get-webhook at http\S+, attempt 1/,
    );
  });
});
