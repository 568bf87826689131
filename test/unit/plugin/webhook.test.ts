import { describe, expect, test } from "vitest";
import { FOREIGN, GET, SET, startAcme, type Acme } from "../webhook/harness.js";
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
  startRun,
  UNKNOWN,
  webhook,
  type Marked,
} from "./harness.js";

const plugin = isolatePlugins();
const { checked } = webhook;
const SECRET_OUTPUTS = ["apiKey", "applied", "webhookVerificationKey"];

test("create registers the webhook, and outputs inputs and registration without the resource's name", async () => {
  const started = await startAcme();
  const inputs = await checked(programOf(started));
  const { id, outs } = await webhook.create(inputs);
  const { acme } = started;
  expect(id).toBe(acme.botUrl);
  const record = { apiKey: expect.any(String), claimId: expect.any(String) };
  const applied = { url: started.args.webhookUrl, botUrl: id, ...record };
  expect(clear(outs)).toEqual({ ...clear(inputs), botUrl: id, stateVersion: 1, applied });
  expect(secretsIn(outs)).toEqual(SECRET_OUTPUTS);
  expect(started.actions()).toEqual(SET);
});

test("create returns a partial state in which the program's secrets stay marked", async () => {
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

test("the preview of create writes nothing, shows the bot of a webhook to adopt, and fails on a conflict", async () => {
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

test("diff shows what each change adds, updates or deletes, even a secret, and never replaces", async () => {
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

test("the preview of update shows all outputs, and warns if the update will fail", async () => {
  const { acme, id, inputs, outs, actions } = await startCreated();
  acme.takeOver(FOREIGN);
  const news = { ...inputs, preflight: "off" };
  const preview = await webhook.update(id, outs, news, { preview: true });
  expect(clear(preview)).toEqual({ ...clear(news), status: "verified", botUrl: acme.botUrl });
  const message = expect.stringMatching(/will fail/) as string;
  expect(plugin.lines).toMatchObject([{ severity: 2, message }]);
  expect(actions()).toEqual(GET);
});

test("read keeps values secret, even a drifted URL, and returns nothing for a webhook that is gone", async () => {
  const { acme, args, id, inputs, outs } = await startCreated({ preflight: secret("warn") });
  expect(await webhook.read(id, outs, inputs)).toEqual({ id, outs, inputs });
  acme.change({ webhook_url: FOREIGN.webhook_url });
  const seen = await webhook.read(id, outs, { ...inputs, webhookUrl: secret(args.webhookUrl) });
  const hidden = ["webhookUrl", "drift.0.expected", "drift.0.actual", "preflight", ...SECRET_OUTPUTS];
  expect(secretsIn(seen?.outs)).toEqual(hidden.toSorted());
  acme.removeRegistration();
  expect(await webhook.read(id, outs, inputs)).toBeUndefined();
});

test("the plugin carries out a pending delete that has the dynamic provider's type", async () => {
  const { id, outs, acme } = await startCreated();
  const moved = resourceOf("ApiChatWebhook", "acme", "pulumi-nodejs:dynamic/apichat");
  await moved.delete(id, { ...outs, __provider: "source", name: "acme" });
  expect(acme.registration).toBeUndefined();
});

test("an operation ends when the run ends, and records what it may have set if its bot is known", async () => {
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
  // The create has not learned its bot, so it returns no state; the next `up` adopts the webhook.
  expect(partOf(created!)).toBeUndefined();
  for (const error of [updated, created])
    expect(error!.details).toMatch(/^(acme|other): .*the run was ended/);
  expect((await failureOf(plugin.invoke({ baseUrl, apiKey: "x" }))).details).toContain("the run was ended");
});

const HIDDEN = "geheim-0123456789";

/** The path of the secret base URL. Messages must not contain this path either. */
const pathOf = ({ acme }: Acme): string => new URL(acme.baseUrl).pathname;

/** Starts acme with URLs that are secret as a whole, including their paths. */
async function startHidden(): Promise<Acme & { given: Marked }> {
  const started = await startAcme();
  const webhookUrl = secret(`${started.args.webhookUrl}/${HIDDEN}`);
  return { ...started, given: { baseUrl: secret(started.acme.baseUrl), webhookUrl } };
}

describe("a secret", () => {
  test("is not in the error of a failed handshake", async () => {
    const started = await startHidden();
    const timeouts = { requestSeconds: 3, readySeconds: 0 };
    const webhookUrl = secret(`http://127.0.0.1:9/${HIDDEN}?token=1`);
    const inputs = await checked(programOf(started, { ...started.given, webhookUrl, timeouts }));
    const { details } = await failureOf(webhook.create(inputs));
    expect(details).toContain("the handshake with [redacted]");
    expect(details).not.toContain(HIDDEN);
    expect(details).not.toContain("127.0.0.1:9");
  });

  test("is not in the error about a conflict after a refresh; the error masks the other URL's query", async () => {
    const { id, inputs, outs, acme } = await startCreated();
    acme.takeOver({ ...FOREIGN, webhook_url: `${FOREIGN.webhook_url}?token=${HIDDEN}` });
    const seen = await webhook.read(id, outs, inputs);
    const { details } = await failureOf(webhook.update(id, seen?.outs ?? {}, inputs));
    expect(details).toContain(`now has the webhook ${FOREIGN.webhook_url}?token=***, not`);
    expect(details).not.toContain(HIDDEN);
  });

  test("is neither in the line of an adoption nor in the warning of a delete that keeps the webhook", async () => {
    const started = await startHidden();
    const inputs = await checked(programOf(started, started.given));
    const { outs, id } = await webhook.create(inputs);
    await startRun();
    await webhook.create(await checked(inputs));
    started.acme.takeOver(FOREIGN);
    await startRun();
    await webhook.delete(id, outs);
    const lines = plugin.lines.map(({ message }) => message).join("\n");
    expect(lines).toContain("adopted [redacted]");
    expect(lines).toContain("[redacted] now has the webhook");
    expect(lines).not.toContain(HIDDEN);
    expect(lines).not.toContain(pathOf(started));
  });

  test("is not in an error, even if it is the configured base URL", async () => {
    const started = await startHidden();
    const baseUrl = secret(started.acme.baseUrl);
    await plugin.configure({ baseUrl, apiKey: secret("ak-wrong-0123456789") });
    const { webhookUrl, webhookVerificationKey } = programOf(started, started.given);
    const inputs = await checked({ webhookUrl, webhookVerificationKey });
    for (const call of [webhook.create(inputs), plugin.invoke({})]) {
      const { details } = await failureOf(call);
      expect(details).toContain("HTTP 401");
      expect(details).not.toContain(pathOf(started));
    }
  });
});
