import { describe, expect, test, vi } from "vitest";
import { ApiChatWebhook } from "../../../provider/dynamic.js";
import type { BeforeFirstSet, Fault } from "../../../provider/emulator/index.js";
import type { OnExisting, WebhookState } from "../../../provider/webhook/contract.js";
import { removalCommand } from "../../../provider/errors/index.js";
import { DRIFTED_KEY, UnfinishedError, expandState } from "../../../provider/webhook/state.js";
import { findSecrets } from "../../support/secrets.js";
import {
  API_KEY,
  VERIFICATION_KEY,
  create,
  errorOf,
  failureOf,
  isolateRuns,
  refresh,
  startAcme,
  startEndpoint,
  startRun,
  update,
  type Acme,
} from "./harness.js";

const lines = isolateRuns();

const FOREIGN = {
  webhook_url: "http://127.0.0.1:9/foreign",
  webhook_verification_key: "foreign-key-0123456789",
};

test("create registers the webhook, and its outputs say what stands there", async () => {
  const { acme, args, actions, endpoint } = await startAcme();
  const { id, outs } = await create({ ...args, __provider: "source" });
  expect(actions()).toEqual(["get-webhook", "set-webhook", "get-webhook"]);
  expect(acme.registration).toEqual({
    webhook_url: endpoint.url,
    webhook_verification_key: VERIFICATION_KEY,
    webhook_status: "verified",
    bot_url: acme.botUrl,
  });
  expect(id).toBe(acme.botUrl);
  expect(outs).toMatchObject({
    ...args,
    __provider: "source",
    status: "verified",
    botUrl: acme.botUrl,
    stateVersion: 1,
    applied: { url: endpoint.url, botUrl: acme.botUrl },
  });
  expect(JSON.stringify(outs)).toBe(JSON.stringify(structuredClone(outs)));
  expect(Object.values(outs)).not.toContain(undefined);
  expect(lines).toEqual([]);
});

type Stands = (acme: Acme) => void;
const nothing: Stands = () => undefined;
const ours: Stands = ({ acme, endpoint }) =>
  acme.takeOver({ webhook_url: endpoint.url, webhook_verification_key: VERIFICATION_KEY });
const oursWithSlash: Stands = ({ acme, endpoint }) =>
  acme.takeOver({ webhook_url: `${endpoint.url}/`, webhook_verification_key: VERIFICATION_KEY });
const oursWithOtherKey: Stands = ({ acme, endpoint }) =>
  acme.takeOver({ ...FOREIGN, webhook_url: endpoint.url });
const oursFailed: Stands = (started) => {
  ours(started);
  started.acme.change({ webhook_status: "failed" });
};
const foreign: Stands = ({ acme }) => acme.takeOver(FOREIGN);
const foreignWithOurKey: Stands = ({ acme }) =>
  acme.takeOver({ ...FOREIGN, webhook_verification_key: VERIFICATION_KEY });

type Row = [string, Stands, OnExisting | undefined];

const createOver = (started: Acme, onExisting: OnExisting | undefined): ReturnType<typeof create> =>
  create({ ...started.args, ...(onExisting && { onExisting }) });

describe("create sets the webhook where there stands", () => {
  test.each<Row>([
    ["nothing", nothing, undefined],
    ["nothing", nothing, "replace"],
    ["our URL with another key", oursWithOtherKey, undefined],
    ["our URL with another key", oursWithOtherKey, "replace"],
    ["ours, not verified", oursFailed, undefined],
    ["another URL", foreign, "replace"],
    ["another URL with our key", foreignWithOurKey, "replace"],
  ])("%s, and onExisting is $2", async (_, stand, onExisting) => {
    const started = await startAcme();
    stand(started);
    const { outs } = await createOver(started, onExisting);
    expect(started.actions()).toEqual(["get-webhook", "set-webhook", "get-webhook"]);
    expect(started.acme.registration).toMatchObject({
      webhook_url: started.endpoint.url,
      webhook_verification_key: VERIFICATION_KEY,
      webhook_status: "verified",
    });
    expect(await refresh(outs)).toEqual(outs);
  });
});

describe("create adopts, without a handshake, where there stands", () => {
  test.each<Row>([
    ["ours", ours, undefined],
    ["ours", ours, "fail"],
    ["ours", ours, "replace"],
    ["ours, written in another way", oursWithSlash, undefined],
  ])("%s, and onExisting is $2", async (_, stand, onExisting) => {
    const started = await startAcme();
    stand(started);
    const { id, outs } = await createOver(started, onExisting);
    expect(started.actions()).toEqual(["get-webhook"]);
    expect(started.endpoint.received).toEqual([]);
    expect(id).toBe(started.acme.botUrl);
    expect(outs).toMatchObject({ webhookUrl: started.endpoint.url, status: "verified" });
    expect(await refresh(outs)).toEqual(outs);
  });
});

describe("create is a conflict, and writes nothing, where there stands", () => {
  test.each<Row>([
    ["another URL", foreign, undefined],
    ["another URL", foreign, "fail"],
    ["another URL with our key", foreignWithOurKey, "fail"],
  ])("%s, and onExisting is $2", async (_, stand, onExisting) => {
    const started = await startAcme();
    stand(started);
    const before = started.acme.registration;
    const error = await failureOf(createOver(started, onExisting));
    expect(error.code).toBe("conflict");
    expect(error.message).toMatch(/^acme: .*\/foreign, and nothing was written/);
    expect(error.message).toContain(
      removalCommand({ baseUrl: started.args.baseUrl, webhookUrl: FOREIGN.webhook_url }),
    );
    expect(started.actions()).toEqual(["get-webhook"]);
    expect(started.acme.registration).toEqual(before);
  });
});

describe("a workspace that never had a webhook", () => {
  const readings: BeforeFirstSet[] = [
    "empty-strings",
    "null-fields",
    "nulls",
    "missing",
    "empty-array",
    "not-found",
  ];
  test.each(readings)("may answer %s", async (beforeFirstSet) => {
    const { acme, args, actions } = await startAcme({ beforeFirstSet });
    const { outs } = await create(args);
    expect(actions()).toEqual(["get-webhook", "set-webhook", "get-webhook"]);
    expect(outs.botUrl).toBe(acme.botUrl);
  });

  const refusals: [string, Fault][] = [
    ["422", { status: 422 }],
    ["an envelope status of its own", { statusField: "no_webhook" }],
    ["HTML", "html"],
  ];
  test.each(refusals)('that answers %s needs onExisting "replace"', async (_, fault) => {
    const { args, actions, emulator } = await startAcme();
    emulator.injectFault({ operation: "get-webhook", fault });
    const error = await failureOf(create(args));
    expect(["rejected", "protocol"]).toContain(error.code);
    expect(error.message).toMatch(/^acme: get-webhook [^]*Nothing was written.*onExisting: "replace"/);
    expect(actions()).toEqual(["get-webhook"]);
    emulator.injectFault({ operation: "get-webhook", fault });
    expect((await create({ ...args, onExisting: "replace" })).outs.status).toBe("verified");
  });

  test.each<[string, Fault, string]>([
    ["401", { status: 401 }, "unauthorized"],
    ["503 for too long", { status: 503, retryAfterSeconds: 60 }, "unavailable"],
  ])('that answers %s fails also with "replace"', async (_, fault, code) => {
    const { args, actions, emulator } = await startAcme();
    emulator.injectFault({ operation: "get-webhook", fault });
    const error = await failureOf(create({ ...args, onExisting: "replace" }));
    expect(error.code).toBe(code);
    expect(actions()).toEqual(["get-webhook"]);
  });
});

/** What a refresh and an update of the next run make of a state, and which actions they call. */
async function nextRun(state: WebhookState, { args, actions }: Acme): Promise<unknown[]> {
  actions();
  const refreshed = await refresh(state);
  startRun();
  return [refreshed, await update(refreshed, args), actions()];
}

const noDrift = (state: WebhookState): unknown[] => [state, state, ["get-webhook", "get-webhook"]];

describe("a service that shows things in its own way:", () => {
  test("a masked key is no drift, and never taken for the key", async () => {
    const started = await startAcme({ maskKey: true });
    const { outs } = await create(started.args);
    expect(outs.webhookVerificationKey).toBe(VERIFICATION_KEY);
    expect(outs.applied.echoKey).toBeDefined();
    expect(await nextRun(outs, started)).toEqual(noDrift(outs));
  });

  test("a masked key that changes is drift, and pushed again", async () => {
    const started = await startAcme({ maskKey: true });
    const { outs } = await create(started.args);
    started.acme.change({ webhook_verification_key: "zz-another-key-0123456789" });
    const refreshed = await refresh(outs);
    expect(refreshed).toMatchObject({ drift: [DRIFTED_KEY], webhookVerificationKey: VERIFICATION_KEY });
    startRun();
    const updated = await update(refreshed, started.args);
    expect(started.acme.registration?.webhook_verification_key).toBe(VERIFICATION_KEY);
    expect(updated).toEqual(outs);
  });

  test("a normalised URL is no drift", async () => {
    const started = await startAcme({ normalizeUrl: true });
    const webhookUrl = `${started.endpoint.url.replace("http:", "HTTP:")}/`;
    Object.assign(started.args, { webhookUrl });
    const { outs } = await create(started.args);
    expect(outs).toMatchObject({ webhookUrl, applied: { url: webhookUrl, echoUrl: started.endpoint.url } });
    expect(await nextRun(outs, started)).toEqual(noDrift(outs));
  });

  test("a URL with a query of its own is set and recognised", async () => {
    const started = await startAcme();
    Object.assign(started.args, { webhookUrl: `${started.endpoint.url}?token=a%2Fb+c` });
    const { outs } = await create(started.args);
    expect(await nextRun(outs, started)).toEqual(noDrift(outs));
  });
});

describe("a status that is not verified yet", () => {
  test("is waited for", async () => {
    const { args } = await startAcme({ statusAfterSet: "pending", verifyAfterMs: 300 });
    expect((await create(args)).outs.status).toBe("verified");
  });

  test("keeps the resource as partly done, and update completes it", async () => {
    const { acme, args, actions } = await startAcme({ statusAfterSet: "pending" });
    const unfinished = { ...args, timeouts: { requestSeconds: 3, readySeconds: 0.3 } };
    const error = await errorOf(create(unfinished));
    expect(error).toBeInstanceOf(UnfinishedError);
    const { id, reasons, ...partly } = error as UnfinishedError;
    const properties = expandState(partly.properties);
    expect(id).toBe(acme.botUrl);
    expect(properties).toMatchObject({
      status: "pending",
      botUrl: acme.botUrl,
      applied: { url: args.webhookUrl },
    });
    expect(reasons).toEqual([expect.stringMatching(/^acme: .*"pending" and not "verified" after 0\.3 s/)]);
    const again = await errorOf(update(properties, unfinished));
    expect(again).toMatchObject({ id: acme.botUrl, properties: { status: "pending" } });
    acme.change({ webhook_status: "verified" });
    actions();
    expect(await update(properties, unfinished)).toEqual({ ...properties, status: "verified" });
    expect(actions()).toEqual(["get-webhook"]);
  });
});

describe("a set-webhook that the service refuses for good", () => {
  const once = { readySeconds: 0, requestSeconds: 3 };
  const refuseHandshake = { operation: "handshake", fault: { status: 500 } } as const;

  test("on nothing leaves nothing, and says so", async () => {
    const { acme, args, emulator } = await startAcme({ failedHandshake: "clears" });
    emulator.injectFault(refuseHandshake);
    const error = await failureOf(create({ ...args, timeouts: once }));
    expect(error).toMatchObject({ code: "rejected", operation: "set-webhook", httpStatus: 422, attempts: 1 });
    expect(error.message).toContain("although the preflight passed");
    expect(error.message).toContain("Registered now: nothing");
    expect(acme.registration).toBeUndefined();
  });

  test("puts back what stood there before, once", async () => {
    const { acme, args, emulator } = await startAcme({ failedHandshake: "clears" });
    const before = await startEndpoint("key-before-0123456789", "/before");
    acme.takeOver({ webhook_url: before.url, webhook_verification_key: "key-before-0123456789" });
    emulator.injectFault(refuseHandshake);
    const error = await failureOf(create({ ...args, onExisting: "replace", timeouts: once }));
    expect(error.message).toContain(`Put back: ${before.url}, status "verified"`);
    expect(acme.registration).toMatchObject({
      webhook_url: before.url,
      webhook_verification_key: "key-before-0123456789",
      webhook_status: "verified",
    });
  });

  test("cannot put back what the service masks, and says so", async () => {
    const { acme, args, emulator } = await startAcme({ failedHandshake: "clears", maskKey: true });
    acme.takeOver(FOREIGN);
    emulator.injectFault(refuseHandshake);
    const error = await failureOf(create({ ...args, onExisting: "replace", timeouts: once }));
    expect(error.message).toContain("could not be put back, because its key is not known");
  });

  test("leaves what the service kept", async () => {
    const { acme, args, emulator, actions } = await startAcme({ failedHandshake: "keeps" });
    acme.takeOver(FOREIGN);
    emulator.injectFault(refuseHandshake);
    const error = await failureOf(create({ ...args, onExisting: "replace", timeouts: once }));
    expect(error.message).toContain("Registered now: http://127.0.0.1:9/foreign");
    expect(actions()).toEqual(["get-webhook", "set-webhook", "get-webhook"]);
  });

  test("is tried again until readySeconds", async () => {
    const { args, emulator, actions } = await startAcme();
    emulator.injectFault({ ...refuseHandshake, times: 2 });
    await create(args);
    expect(actions().filter((action) => action === "set-webhook")).toHaveLength(3);
  });
});

test("a preflight that fails keeps set-webhook from being called", async () => {
  const { args, actions, acme } = await startAcme();
  const wrong = await startEndpoint("another-key-0123456789");
  const timeouts = { requestSeconds: 3, readySeconds: 0 };
  const error = await failureOf(create({ ...args, webhookUrl: wrong.url, timeouts }));
  expect(error).toMatchObject({ code: "handshake_failed", transcript: { rule: "token_refused" } });
  expect(error.message).toMatch(/^acme: the handshake with /);
  expect(error.stack).toBe("acme: handshake_failed");
  expect(actions()).toEqual(["get-webhook"]);
  expect(acme.registration).toBeUndefined();
});

/** The first look finds what to do, the second is to confirm what was done. */
const secondLookFails = { operation: "get-webhook", every: 2, times: 1, fault: { status: 422 } } as const;

async function unfinishedBy(work: Promise<unknown>): Promise<UnfinishedError> {
  const error = await errorOf(work);
  expect(error).toBeInstanceOf(UnfinishedError);
  return error as UnfinishedError;
}

test("a set-webhook that cannot be confirmed is kept in the state, so that destroy removes it", async () => {
  const { acme, args, emulator } = await startAcme();
  emulator.injectFault(secondLookFails);
  const { id, properties, reasons } = await unfinishedBy(create(args));
  expect(id).toBe(acme.botUrl);
  expect(reasons).toEqual([
    expect.stringMatching(/^acme: set-webhook succeeded, and could not be confirmed/),
  ]);
  startRun();
  await ApiChatWebhook.delete(id, properties);
  expect(acme.registration).toBeUndefined();
});

test("what a refused set-webhook leaves registered is kept in the state", async () => {
  const { acme, args, emulator } = await startAcme({ failedHandshake: "unverified" });
  emulator.injectFault({ operation: "handshake", fault: { status: 500 } });
  const timeouts = { requestSeconds: 3, readySeconds: 0 };
  const { properties } = await unfinishedBy(create({ ...args, timeouts }));
  expect(acme.registration?.webhook_url).toBe(args.webhookUrl);
  startRun();
  await ApiChatWebhook.delete(properties.botUrl, properties);
  expect(acme.registration).toBeUndefined();
});

describe("create prints one line where it", () => {
  test.each<[string, Stands, OnExisting | undefined, RegExp]>([
    ["adopted", ours, undefined, /^acme: adopted .*; nothing was written$/],
    ["adopted and set again", oursWithOtherKey, undefined, /^acme: adopted .*; .* it was set again$/],
    [
      "replaced",
      foreign,
      "replace",
      /^acme: replaced .*\/foreign; onExisting: "replace" may be removed now$/,
    ],
    ["registered", nothing, "replace", /^$/],
  ])("%s", async (_, stand, onExisting, line) => {
    const started = await startAcme();
    stand(started);
    await createOver(started, onExisting);
    expect(lines.join("\n")).toMatch(line);
  });
});

describe("an answer that gets lost", () => {
  const faults: Fault[] = ["close-before", "close-after", "truncated", { status: 503, afterChange: true }];
  test.each(faults)("to set-webhook (%j) is repeated", async (fault) => {
    const { acme, args, emulator } = await startAcme();
    emulator.injectFault({ operation: "set-webhook", fault });
    expect((await create(args)).id).toBe(acme.botUrl);
    expect(acme.registration?.webhook_url).toBe(args.webhookUrl);
  });

  test.each([{}, { maskKey: true }])("for good is made up for by a look (%j)", async (options) => {
    const { acme, args, emulator, actions } = await startAcme(options);
    emulator.injectFault({ operation: "set-webhook", fault: "html" });
    expect((await create(args)).id).toBe(acme.botUrl);
    expect(actions()).toEqual(["get-webhook", "set-webhook", "get-webhook", "get-webhook"]);
  });

  test("with the look after it is said, and adopted by the next create", async () => {
    const { acme, args, emulator, actions } = await startAcme();
    emulator.injectFault({ operation: "set-webhook", fault: "html" });
    emulator.injectFault(secondLookFails);
    const error = await failureOf(create(args));
    expect(error.code).toBe("protocol");
    expect(error.message).toContain("may have been made nevertheless");
    actions();
    startRun();
    lines.length = 0;
    expect((await create(args)).id).toBe(acme.botUrl);
    expect(actions()).toEqual(["get-webhook"]);
    expect(lines).toEqual([expect.stringMatching(/^acme: adopted .*nothing was written$/)]);
  });

  test("with the look after it leaves a workspace in the state whose bot was known", async () => {
    const { acme, args, emulator } = await startAcme();
    acme.takeOver(FOREIGN);
    emulator.injectFault({ operation: "set-webhook", fault: "html" });
    emulator.injectFault(secondLookFails);
    const { id, properties } = await unfinishedBy(create({ ...args, onExisting: "replace" }));
    expect(id).toBe(acme.botUrl);
    expect(acme.registration?.webhook_url).toBe(args.webhookUrl);
    startRun();
    await ApiChatWebhook.delete(id, properties);
    expect(acme.registration).toBeUndefined();
  });
});

describe("two resources that reach one bot", () => {
  test("are a conflict that names both, and the second writes nothing", async () => {
    const { acme, args, emulator, actions } = await startAcme();
    const alias = emulator.addWorkspace({ name: "alias", apiKey: "ak-alias-0123456789" });
    alias.change({ owner: "acme" });
    await create(args);
    actions();
    const second = { ...args, name: "again", baseUrl: alias.baseUrl, apiKey: "ak-alias-0123456789" };
    const error = await failureOf(create(second));
    expect(error.code).toBe("conflict");
    expect(error.message).toMatch(/"acme" and "again"/);
    expect(actions()).toEqual(["get-webhook"]);
    expect(acme.registration?.webhook_url).toBe(args.webhookUrl);
  });
});

describe("the API key to create with", () => {
  test("comes from the environment before the configuration, and does not enter the state", async () => {
    const { args } = await startAcme();
    const { apiKey: _, ...bare } = args;
    vi.stubEnv("APICHAT_API_KEY", API_KEY);
    startRun({ "apichat:apiKey": "a-wrong-key-0123456789" });
    const { outs } = await create(bare);
    expect(findSecrets(JSON.stringify(outs), [API_KEY])).toEqual([]);
  });

  test("is the argument's before all others, and no other is tried", async () => {
    const { args, actions } = await startAcme();
    vi.stubEnv("APICHAT_API_KEY", API_KEY);
    const error = await failureOf(create({ ...args, apiKey: "a-wrong-key-0123456789" }));
    expect(error.code).toBe("unauthorized");
    expect(error.message).toContain("issued by the platform's support");
    expect(actions()).toEqual(["get-webhook"]);
  });
});
