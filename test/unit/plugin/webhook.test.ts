import plugins from "@pulumi/pulumi/proto/plugin_pb.js";
import { describe, expect, test } from "vitest";
import {
  FOREIGN,
  GET,
  rejectHandshake,
  secondLookFails,
  SET,
  startAcme,
  type Acme,
} from "../webhook/harness.js";
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
  startEngine,
  startRun,
  UNKNOWN,
  webhook,
  type Marked,
} from "./harness.js";

const plugin = isolatePlugins();
const { checked } = webhook;
const SECRET_OUTPUTS = ["apiKey", "applied", "webhookVerificationKey"];

describe("create", () => {
  test("registers, and stores inputs and registration without the resource's name", async () => {
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

  test("returns a partial state with the program's marks", async () => {
    const started = await startAcme({ statusAfterSet: "pending" });
    const timeouts = { requestSeconds: 3, readySeconds: 0.1 };
    const given = programOf(started, { baseUrl: secret(started.acme.baseUrl), timeouts });
    const error = await failureOf(webhook.create(await checked(given)));
    const part = partOf(error);
    expect(part?.id).toBe(started.acme.botUrl);
    expect(clear(part?.properties ?? {})).toMatchObject({ status: "pending", botUrl: started.acme.botUrl });
    expect(clear(part?.properties ?? {})).not.toHaveProperty("name");
    expect(secretsIn(part?.properties)).toEqual(["apiKey", "applied", "baseUrl", "webhookVerificationKey"]);
    expect(part?.reasons).toEqual([expect.stringMatching(/^acme: .*"pending"/)]);
  });
});

describe("the preview of create", () => {
  test("knows everything except the bot URL, and writes nothing", async () => {
    const started = await startAcme();
    const inputs = await checked(programOf(started));
    const { id, outs } = await webhook.create(inputs, { preview: true });
    expect(id).toBe("");
    expect(clear(outs)).toEqual({ ...clear(inputs), status: "verified", botUrl: UNKNOWN });
    expect(secretsIn(outs)).toEqual(["apiKey", "webhookVerificationKey"]);
    expect(started.actions()).toEqual(GET);
    expect(plugin.lines).toEqual([]);
  });

  test("reports an adoption, with its bot URL", async () => {
    const { acme, inputs, actions } = await startCreated();
    const { outs } = await webhook.create(inputs, { preview: true });
    expect(outs["botUrl"]).toBe(acme.botUrl);
    expect(plugin.lines).toMatchObject(
      [{ urn: webhook.urn, severity: 1, message: /^adopts / }].map(({ message, ...line }) => ({
        ...line,
        message: expect.stringMatching(message),
      })),
    );
    expect(actions()).toEqual(GET);
  });

  test.each(["baseUrl", "apiKey"])("sends no request while %s is not known", async (name) => {
    const started = await startAcme();
    const inputs = await checked(programOf(started, { [name]: UNKNOWN }));
    const { outs } = await webhook.create(inputs, { preview: true });
    expect(outs).toMatchObject({ botUrl: UNKNOWN, status: "verified" });
    expect(started.actions()).toEqual([]);
  });
});

describe("diff", () => {
  test("shows each change with its kind, including secrets, and never replaces", async () => {
    const { id, inputs, outs } = await startCreated({ preflight: "warn" });
    const { preflight: _, ...less } = inputs;
    const changes: [Marked, Record<string, string>][] = [
      [inputs, {}],
      [{ ...inputs, webhookUrl: "https://moved.example/" }, { webhookUrl: "UPDATE" }],
      [
        { ...inputs, webhookVerificationKey: secret("another-key-0123456789") },
        { webhookVerificationKey: "UPDATE" },
      ],
      [{ ...inputs, apiKey: secret("another-key-0123456789") }, { apiKey: "UPDATE" }],
      [{ ...inputs, baseUrl: UNKNOWN }, { baseUrl: "UPDATE" }],
      [{ ...inputs, onExisting: "replace" }, { onExisting: "ADD" }],
      [less, { preflight: "DELETE" }],
      [{ ...inputs, timeouts: { readySeconds: 1 } }, { timeouts: "UPDATE" }],
    ];
    for (const [news, detailed] of changes) {
      const diffs = Object.keys(detailed);
      const expected = { changes: diffs.length > 0, diffs, replaces: [], detailed };
      expect(await webhook.diff(id, outs, news, { oldInputs: inputs })).toEqual(expected);
      expect((await webhook.diff(id, outs, news, { oldInputs: inputs, ignore: diffs })).changes).toBe(false);
    }
  });

  test("hides a URL in a drift if the program marks it as secret", async () => {
    const started = await startAcme();
    const given = programOf(started, { webhookUrl: secret(started.args.webhookUrl) });
    const inputs = await checked(given);
    const { id, outs } = await webhook.create(inputs);
    started.acme.change({ webhook_url: FOREIGN.webhook_url });
    const seen = await webhook.read(id, outs, inputs);
    expect(clear(seen?.outs ?? {})["drift"]).toEqual([
      { property: "webhookUrl", expected: started.args.webhookUrl, actual: FOREIGN.webhook_url },
    ]);
    const hidden = ["webhookUrl", "drift.0.expected", "drift.0.actual", ...SECRET_OUTPUTS];
    expect(secretsIn(seen?.outs)).toEqual(expect.arrayContaining(hidden));
  });
});

describe("update", () => {
  test("returns the current state if it is partly done", async () => {
    const { emulator, endpoint, id, inputs, outs } = await startCreated();
    emulator.injectFault(secondLookFails);
    const moved = `${endpoint.url}/moved`;
    const part = partOf(await failureOf(webhook.update(id, outs, { ...inputs, webhookUrl: secret(moved) })));
    expect(part?.id).toBe(id);
    expect(clear(part?.properties ?? {})).toMatchObject({ webhookUrl: moved });
    expect(clear(part?.properties ?? {})).not.toHaveProperty("name");
    expect(secretsIn(part?.properties)).toEqual([...SECRET_OUTPUTS, "webhookUrl"].toSorted());
  });
});

test("attaching an engine starts a new run, which may delete webhooks that the last run declared", async () => {
  const started = await startAcme();
  const { id, outs } = await webhook.create(await checked(programOf(started)));
  const engine = await startEngine();
  await plugin.call("attach", new plugins.PluginAttach(), { address: engine.address });
  await webhook.delete(id, outs);
  engine.stop();
  expect(started.acme.registration).toBeUndefined();
});

test("carries out a pending delete that has the type of the dynamic provider", async () => {
  const { id, outs, acme } = await startCreated();
  const moved = resourceOf("ApiChatWebhook", "acme", "pulumi-nodejs:dynamic/apichat");
  await moved.delete(id, { ...outs, __provider: "source", name: "acme" });
  expect(acme.registration).toBeUndefined();
});

test("check rejects resources of the same name and workspace in two components", async () => {
  const started = await startAcme();
  const [one, two] = ["One", "Two"].map((parent) =>
    resourceOf("ApiChatWebhook", "acme", `app:index:${parent}$apichat:index`),
  );
  expect((await one?.check(programOf(started)))?.failures).toEqual([]);
  expect((await two?.check(programOf(started)))?.failures).toEqual([
    {
      property: "",
      reason: expect.stringContaining('"acme" and "acme" declare the same workspace') as string,
    },
  ]);
  expect((await one?.check(programOf(started)))?.failures).not.toEqual([]);
});

describe("an operation that takes too long", () => {
  test("ends at the end of the run, and its state contains what may be registered", async () => {
    const { acme, emulator, inputs, id, outs, endpoint } = await startCreated();
    const other = resourceOf("ApiChatWebhook", "other");
    const { baseUrl } = emulator.workspace("other");
    emulator.injectFault({
      operation: "set-webhook",
      every: 1,
      fault: { delayMs: 600_000, afterChange: true },
    });
    const begun = [
      failureOf(webhook.update(id, outs, { ...inputs, webhookUrl: `${endpoint.url}/moved`, timeouts: {} })),
      failureOf(other.create({ ...inputs, baseUrl, apiKey: secret("ak-other-0123456789"), timeouts: {} })),
    ];
    await expect.poll(() => acme.registration?.webhook_url).toBe(`${endpoint.url}/moved`);
    await expect.poll(() => emulator.workspace("other").registration).toBeDefined();
    await plugin.cancel();
    const [updated, created] = await Promise.all(begun);
    expect(clear(partOf(updated!)?.properties ?? {})).toMatchObject({
      webhookUrl: inputs["webhookUrl"],
      applied: { attempted: [`${endpoint.url}/moved`] },
    });
    // Its bot is unknown, so there is no state; the next `up` adopts it.
    expect(partOf(created!)).toBeUndefined();
    for (const error of [updated, created])
      expect(error!.details).toMatch(/^(acme|other): .*the run was ended/);
    expect((await failureOf(webhook.read(id, outs))).details).toContain("the run was ended");
    expect((await failureOf(plugin.invoke({ baseUrl, apiKey: "x" }))).details).toContain("the run was ended");
  });

  test("ends at the limit of customTimeouts", async () => {
    const started = await startAcme();
    started.emulator.injectFault({ ...rejectHandshake, every: 1 });
    const { timeouts: _, ...program } = programOf(started);
    const { details } = await failureOf(webhook.create(await checked(program), { timeout: 0.5 }));
    expect(details).toMatch(/^acme: /);
    const slow = await startAcme();
    slow.emulator.injectFault({ operation: "get-webhook", every: 1, fault: { delayMs: 600_000 } });
    const late = webhook.create(await checked(programOf(slow, { timeouts: {} })), { timeout: 0.2 });
    expect((await failureOf(late)).details).toMatch(
      /0\.2 s of customTimeouts, while waiting for get-webhook at http\S+, attempt 1/,
    );
  });
});

const linesOf = (): string => plugin.lines.map(({ message }) => message).join("\n");

/** The path of the workspace's address, which would appear in a text. */
const pathOf = ({ acme }: Acme): string => new URL(acme.baseUrl).pathname;

describe("values that the program marks as secret are not in", () => {
  const HIDDEN = "geheim-0123456789";

  /** The same program with URLs that are secret as a whole, including their paths. */
  async function startHidden(): Promise<Acme & { given: Marked }> {
    const started = await startAcme();
    const given = {
      baseUrl: secret(started.acme.baseUrl),
      webhookUrl: secret(`${started.args.webhookUrl}/${HIDDEN}`),
    };
    return { ...started, given };
  }

  test("a failed handshake", async () => {
    const started = await startHidden();
    const timeouts = { requestSeconds: 3, readySeconds: 0 };
    const webhookUrl = secret(`http://127.0.0.1:9/${HIDDEN}?token=1`);
    const inputs = await checked(programOf(started, { ...started.given, webhookUrl, timeouts }));
    const { details } = await failureOf(webhook.create(inputs));
    expect(details).toContain("the handshake with [redacted]");
    expect(details).not.toContain(HIDDEN);
    expect(details).not.toContain("127.0.0.1:9");
  });

  test("a conflict after a refresh", async () => {
    const { id, inputs, outs, acme } = await startCreated();
    acme.takeOver({ ...FOREIGN, webhook_url: `${FOREIGN.webhook_url}?token=${HIDDEN}` });
    const seen = await webhook.read(id, outs, inputs);
    const { details } = await failureOf(webhook.update(id, seen?.outs ?? {}, inputs));
    expect(details).toContain(`now has the webhook ${FOREIGN.webhook_url}?token=***, not`);
    expect(details).not.toContain(HIDDEN);
  });

  test("the message of an adoption and the warning of a delete", async () => {
    const started = await startHidden();
    const inputs = await checked(programOf(started, started.given));
    const { outs, id } = await webhook.create(inputs);
    await startRun();
    await webhook.create(await checked(inputs));
    expect(linesOf()).toContain("adopted [redacted]");
    started.acme.takeOver(FOREIGN);
    await startRun();
    await webhook.delete(id, outs);
    expect(linesOf()).toContain("[redacted] now has the webhook");
    expect(linesOf()).not.toContain(HIDDEN);
    expect(linesOf()).not.toContain(pathOf(started));
  });

  test("a failure with a secret base URL in the configuration", async () => {
    const started = await startHidden();
    await plugin.configure({ baseUrl: secret(started.acme.baseUrl), apiKey: secret("ak-wrong-0123456789") });
    const { webhookUrl, webhookVerificationKey } = programOf(started, started.given);
    const inputs = await checked({ webhookUrl, webhookVerificationKey });
    const { details } = await failureOf(webhook.create(inputs));
    expect(details).toContain("HTTP 401");
    expect(details).not.toContain(pathOf(started));
    expect((await failureOf(plugin.invoke({}))).details).not.toContain(pathOf(started));
  });

  test("the reasons of a partial create", async () => {
    const started = await startHidden();
    started.emulator.injectFault(secondLookFails);
    const error = await failureOf(webhook.create(await checked(programOf(started, started.given))));
    const reasons = partOf(error)?.reasons.join("\n") ?? "";
    expect(reasons).toContain("could not be confirmed");
    expect(reasons + error.details).not.toContain(pathOf(started));
  });
});
