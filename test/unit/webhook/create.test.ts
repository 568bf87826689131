import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import type { EmulatorOptions, Fault, FaultRule } from "../../../provider/emulator/index.js";
import { removalCommand } from "../../../provider/errors/index.js";
import { lookUpRegistration } from "../../../provider/webhook/read.js";
import { DRIFTED_KEY, type WebhookInputs, type WebhookState } from "../../../provider/webhook/state.js";
import { startServer } from "../../support/http.js";
import {
  FOREIGN,
  GET,
  OTHER_KEY,
  SET,
  VERIFICATION_KEY,
  create,
  failureOf,
  hasChanges,
  isolateRuns,
  refresh,
  rejectHandshake,
  remove,
  secondLookFails,
  startAcme,
  startCreated,
  startEndpoint,
  startRun,
  unfinishedBy,
  update,
  type Acme,
} from "./harness.js";

const lines = isolateRuns();

test("create registers the webhook, and returns the inputs and the registration", async () => {
  const { acme, args, actions, endpoint } = await startAcme();
  const outs = await create({ ...args, __provider: "source" });
  expect(actions()).toEqual(SET);
  expect(acme.registration).toEqual({
    webhook_url: endpoint.url,
    webhook_verification_key: VERIFICATION_KEY,
    webhook_status: "verified",
    bot_url: acme.botUrl,
  });
  expect(outs).toStrictEqual({
    ...args,
    __provider: "source",
    status: "verified",
    botUrl: acme.botUrl,
    stateVersion: 1,
    applied: {
      url: endpoint.url,
      botUrl: acme.botUrl,
      apiKey: expect.stringMatching(/^[\w-]{12}$/) as string,
      claimId: expect.stringMatching(/^[\w-]{8}$/) as string,
    },
  });
  expect(lines).toEqual([]);
});

test("if get-webhook returns the same as set-webhook, only one of several creates calls it to confirm", async () => {
  const { args, emulator, actions } = await startAcme();
  const { baseUrl } = emulator.workspace("other");
  await Promise.all([create(args), create({ ...args, name: "other", baseUrl, apiKey: OTHER_KEY })]);
  expect(actions().filter((action) => action === "get-webhook")).toHaveLength(2 + 1);
});

test("if get-webhook differs from set-webhook, every create calls it to confirm (mocked service)", async () => {
  const registered = new Map<string, object>();
  const { url, requests } = await startServer(({ path, body }, response) => {
    const [name = "", action] = path.split("?action=");
    const bot_url = `https://bots.example${name}`;
    const data = { ...(JSON.parse(body) as object), webhook_status: "verified", bot_url };
    if (action === "set-webhook") registered.set(name, data);
    const masked =
      registered.has(name) && action === "get-webhook" ? { webhook_verification_key: "****" } : {};
    response.end(JSON.stringify({ status: "ok", data: { ...registered.get(name), ...masked } }));
  });
  const { args } = await startAcme();
  await Promise.all(["a", "b"].map((name) => create({ ...args, name, baseUrl: `${url}/${name}` })));
  expect(requests).toHaveLength(2 * SET.length);
});

/** Returns how the registration differs from the program's webhook, whose URL is `url`. */
type Difference = (url: string) => Parameters<Acme["acme"]["change"]>[0];
const none: Difference = () => ({});
const foreign: Difference = () => FOREIGN;
const foreignWithOurKey: Difference = () => ({ webhook_url: FOREIGN.webhook_url });

function register({ acme, endpoint: { url } }: Acme, difference: Difference): void {
  acme.takeOver({ webhook_url: url, webhook_verification_key: VERIFICATION_KEY });
  acme.change(difference(url));
}

const REPLACE = { onExisting: "replace" } as const;
const REPLACED = /^acme: replaced .*\/foreign; onExisting: "replace" may be removed now$/;
const SET_AGAIN = /^acme: adopted .*; .* it was set again$/;
const ADOPTED = /^acme: adopted .*; nothing was written$/;

describe("create in a workspace that already has", () => {
  test.each<[string, Difference, Partial<WebhookInputs>, string[], RegExp]>([
    ["another key", () => ({ webhook_verification_key: "another-key" }), {}, SET, SET_AGAIN],
    ["our webhook, not verified", () => ({ webhook_status: "failed" }), {}, SET, SET_AGAIN],
    ["another URL", foreign, REPLACE, SET, REPLACED],
    ["a different URL with our key", foreignWithOurKey, REPLACE, SET, REPLACED],
    ["our webhook", none, {}, GET, ADOPTED],
    ["our webhook", none, REPLACE, GET, ADOPTED],
    ["our webhook, written differently", (url) => ({ webhook_url: `${url}/` }), {}, GET, ADOPTED],
  ])("%s, with $2, calls $3", async (_, difference, more, calls, line) => {
    const started = await startAcme();
    register(started, difference);
    const before = started.acme.registration;
    const outs = await create({ ...started.args, ...more });
    expect(started.actions()).toEqual(calls);
    expect(lines.join("\n")).toMatch(line);
    expect(outs).toMatchObject({ webhookUrl: started.endpoint.url, status: "verified" });
    const ours = { webhook_url: started.endpoint.url, webhook_verification_key: VERIFICATION_KEY };
    const set = { ...ours, webhook_status: "verified" };
    expect(started.acme.registration).toMatchObject(calls === SET ? set : { ...before });
    expect(started.endpoint.requests.length > 0).toBe(calls === SET);
    expect(await refresh(outs)).toEqual(outs);
  });

  test.each<[string, Difference, Partial<WebhookInputs>]>([
    ["another URL", foreign, {}],
    ["a different URL with our key", foreignWithOurKey, { onExisting: "fail" }],
  ])("%s is a conflict and writes nothing", async (_, difference, more) => {
    const started = await startAcme();
    register(started, difference);
    const before = started.acme.registration;
    const error = await failureOf(create({ ...started.args, ...more }));
    const shown = { baseUrl: started.args.baseUrl, webhookUrl: FOREIGN.webhook_url };
    expect(error).toMatchObject({
      code: "conflict",
      subject: "acme",
      facts: { at: shown.baseUrl, registered: shown.webhookUrl },
      hints: [{ id: "remove_other", ...shown }, { id: "take_over" }, { id: "own_webhook" }],
    });
    expect(error.message).toContain(removalCommand(shown));
    expect(started.actions()).toEqual(GET);
    expect(started.acme.registration).toEqual(before);
  });
});

test.each<[Fault, string, boolean]>([
  [{ status: 422 }, "rejected", true],
  [{ statusField: "no_webhook" }, "rejected", true],
  ["html", "protocol", true],
  [{ status: 401 }, "unauthorized", false],
  [{ status: 503, retryAfterSeconds: 60 }, "unavailable", false],
])("create fails if get-webhook fails with %j: %s; replace helps: %j", async (fault, code, helps) => {
  const { args, actions, emulator } = await startAcme();
  emulator.injectFault({ operation: "get-webhook", fault, times: 2 });
  const error = await failureOf(create(args));
  expect(error).toMatchObject({ code, operation: "get-webhook", subject: "acme" });
  expect(error.hints.some(({ id }) => id === "allow_replace")).toBe(helps);
  expect(actions()).toEqual(GET);
  const again = create({ ...args, onExisting: "replace" });
  expect(await again.catch((failed: unknown) => failed)).toMatchObject(
    helps ? { status: "verified" } : { code },
  );
});

test("create treats HTTP 404 as an empty workspace, but a lookup treats it as an error", async () => {
  const { args } = await startAcme({ beforeFirstSet: "not-found" });
  const notFound = { code: "rejected", httpStatus: 404 };
  await expect(lookUpRegistration(args.baseUrl, args.apiKey)).rejects.toMatchObject(notFound);
  expect(await create(args)).toMatchObject({ status: "verified" });
});

test("the service may mask keys: a mask is not stored as the key, and only a changed mask is drift", async () => {
  const { acme, args, actions } = await startAcme({ maskKey: true });
  const outs = await create(args);
  expect(outs.webhookVerificationKey).toBe(VERIFICATION_KEY);
  expect(outs.applied.echoKey).toMatch(/^[\w-]{12}$/);
  actions();
  expect(await refresh(outs)).toEqual(outs);
  startRun();
  expect(await update(outs, args)).toEqual(outs);
  expect(actions()).toEqual([...GET, ...GET]);
  acme.change({ webhook_verification_key: "zz-another-key-0123456789" });
  const refreshed = await refresh(outs);
  expect(refreshed).toEqual({ ...outs, drift: [DRIFTED_KEY] });
  startRun();
  expect(await update(refreshed, args)).toEqual(outs);
  expect(acme.registration?.webhook_verification_key).toBe(VERIFICATION_KEY);
});

describe("a status that is not verified yet", () => {
  test("is waited for", async () => {
    const { args } = await startAcme({ statusAfterSet: "pending", verifyAfterMs: 300 });
    expect((await create(args)).status).toBe("verified");
  });

  test("leaves a partial resource, which update completes", async () => {
    const { acme, args, actions } = await startAcme({ statusAfterSet: "pending" });
    const hasty = { ...args, timeouts: { requestSeconds: 3, readySeconds: 0.3 } };
    const { id, state, reasons } = await unfinishedBy(create(hasty));
    expect([id, state.botUrl]).toEqual([acme.botUrl, acme.botUrl]);
    expect(state).toMatchObject({ status: "pending", applied: { url: args.webhookUrl } });
    expect(reasons).toEqual([expect.stringMatching(/^acme: .*"pending", not "verified", after 0\.3 s/)]);
    expect(await hasChanges(state, hasty)).toBe(true);
    expect(await unfinishedBy(update(state, hasty))).toMatchObject({ id, state: { status: "pending" } });
    acme.change({ webhook_status: "verified" });
    actions();
    expect(await update(state, hasty)).toEqual({ ...state, status: "verified" });
    expect(actions()).toEqual(GET);
  });
});

test.each<EmulatorOptions>([
  { failedHandshake: "clears" },
  ...(["envelope", "errors", "text", "empty"] as const).map((errorShape) => ({ errorShape })),
])("set-webhook is retried while the service's handshake fails: %j", async (options) => {
  const { acme, args, emulator, actions } = await startAcme(options);
  emulator.injectFault({ ...rejectHandshake, times: 2 });
  await create({ ...args, timeouts: { requestSeconds: 3, readySeconds: 15 } });
  expect(acme.registration).toMatchObject({ webhook_url: args.webhookUrl, webhook_status: "verified" });
  expect(actions().filter((action) => action === "set-webhook")).toHaveLength(3);
});

/** A fault after the change, so that the service performs the handshake before it fails. */
const failWith = (status: number): Fault => ({ status, retryAfterSeconds: 60, afterChange: true });

describe("a set-webhook that the service rejects permanently", () => {
  const timeouts = { readySeconds: 0, requestSeconds: 3 };
  const KEY_BEFORE = "key-before-0123456789";
  const RESTORED = 'Restored: <url>, status "verified"';
  const KEPT = 'Registered now: <url>, status "verified"';
  const LOST = "<url> was registered before and could not be restored";

  test("leaves an empty workspace empty, reports this, and suggests a preflight if there was none", async () => {
    const { acme, args, emulator } = await startAcme({ failedHandshake: "clears" });
    emulator.injectFault({ ...rejectHandshake, times: 2 });
    const blind = await failureOf(create({ ...args, preflight: "off", timeouts }));
    expect(blind.hints).toContainEqual({ id: "run_preflight" });
    const error = await failureOf(create({ ...args, timeouts }));
    expect(error).toMatchObject({ code: "rejected", operation: "set-webhook", httpStatus: 422, attempts: 1 });
    expect(error.summary).toMatch(/although the preflight passed. Registered now: nothing$/);
    expect(acme.registration).toBeUndefined();
  });

  test.each<["clears" | "keeps" | "unverified", Fault | undefined, boolean, string]>([
    ["clears", undefined, false, RESTORED],
    ["clears", undefined, true, `Registered now: nothing. ${LOST}`],
    ["clears", failWith(401), false, RESTORED],
    ["unverified", failWith(503), false, RESTORED],
    ["unverified", undefined, true, `${LOST}: its key is not known`],
    ["keeps", undefined, false, KEPT],
    ["keeps", failWith(401), false, KEPT],
  ])(
    "reports what is registered now: failed handshake %s, fault %j, masked key %j: %s",
    async (failedHandshake, fault, maskKey, left) => {
      const { acme, args, emulator } = await startAcme({ failedHandshake, maskKey });
      const { url } = await startEndpoint(KEY_BEFORE, "/before");
      acme.takeOver({ webhook_url: url, webhook_verification_key: KEY_BEFORE });
      const before = acme.registration;
      emulator.injectFault(rejectHandshake);
      if (fault) emulator.injectFault({ operation: "set-webhook", fault });
      const error = await create({ ...args, onExisting: "replace", timeouts }).catch((one: Error) => one);
      const { message } = error as Error;
      expect(message).toContain(left.replace("<url>", url));
      expect(message.includes("run pulumi refresh, then pulumi up")).toBe(maskKey);
      expect(isDeepStrictEqual(acme.registration, before)).toBe(!maskKey);
    },
  );
});

test("set-webhook is not called after a failed preflight", async () => {
  const { args, actions, acme } = await startAcme();
  const { url: webhookUrl } = await startEndpoint("another-key-0123456789");
  const timeouts = { requestSeconds: 3, readySeconds: 0 };
  const error = await failureOf(create({ ...args, webhookUrl, timeouts }));
  expect(error).toMatchObject({ code: "handshake_failed", transcript: { rule: "token_refused" } });
  expect([error.subject, error.stack]).toEqual(["acme", "acme: handshake_failed"]);
  expect(actions()).toEqual(GET);
  expect(acme.registration).toBeUndefined();
});

describe("a lost response", () => {
  test.each<[Fault[]]>([
    [["html"]],
    [[{ status: 502, afterChange: true }, { status: 401 }]],
    [[{ status: 502, afterChange: true }, { status: 422 }]],
  ])("is recovered with get-webhook, even if the key is masked: faults %j", async (faults) => {
    const { acme, args, emulator } = await startAcme({ maskKey: true });
    for (const fault of faults) emulator.injectFault({ operation: "set-webhook", fault });
    expect((await create(args)).botUrl).toBe(acme.botUrl);
  });

  test("is an error if get-webhook fails too, and the next create adopts the webhook", async () => {
    const { acme, args, emulator, actions } = await startAcme();
    emulator.injectFault({ operation: "set-webhook", fault: "html" });
    emulator.injectFault(secondLookFails);
    const error = await failureOf(create(args));
    expect(error.code).toBe("protocol");
    expect(error.hints).toContainEqual({ id: "run_again" });
    actions();
    startRun();
    expect((await create(args)).botUrl).toBe(acme.botUrl);
    expect(actions()).toEqual(GET);
    expect(lines).toEqual([expect.stringMatching(ADOPTED)]);
  });
});

const setFails = (fault: Fault) => ({ operation: "set-webhook", fault }) as const;

test.each<[string, FaultRule[], isOther?: boolean]>([
  ["a rejection that leaves the webhook unverified", [rejectHandshake]],
  ["a rejection that leaves the webhook verified", [setFails({ status: 422, afterChange: true })]],
  ["a lost response, if the bot is known", [setFails("html"), secondLookFails], true],
  ["a lost confirmation", [secondLookFails]],
])("after %s, create returns a partial state, so destroy removes the webhook", async (_, faults, isOther) => {
  const { acme, args, emulator } = await startAcme({ failedHandshake: "unverified" });
  if (isOther) acme.takeOver(FOREIGN);
  for (const fault of faults) emulator.injectFault(fault);
  const timeouts = { readySeconds: 0, requestSeconds: 3 };
  const { id, state } = await unfinishedBy(create({ ...args, onExisting: "replace", timeouts }));
  expect(id).toBe(acme.botUrl);
  expect(acme.registration?.webhook_url).toBe(args.webhookUrl);
  startRun();
  await remove(state);
  expect(acme.registration).toBeUndefined();
});

test("if the response to a replacement's set-webhook is lost, its state has a new claim", async () => {
  const { args, emulator } = await startAcme();
  const previous = await create(args);
  startRun();
  await refresh(previous);
  const endpoint = await startEndpoint();
  emulator.injectFault({ operation: "set-webhook", fault: "html" });
  emulator.injectFault(secondLookFails);
  const { state } = await unfinishedBy(create({ ...args, webhookUrl: endpoint.url }));
  expect(state.applied).toMatchObject({ url: args.webhookUrl, attempted: [endpoint.url] });
  expect(state.applied.claimId).not.toBe(previous.applied.claimId);
});

test("two resources with the same bot are a conflict, and the second writes nothing", async () => {
  const { acme, args, emulator, actions } = await startAcme();
  const apiKey = "ak-alias-0123456789";
  const { baseUrl } = emulator.addWorkspace({ name: "alias", apiKey });
  emulator.workspace("alias").change({ routeTo: "acme" });
  const again = { ...args, name: "again", baseUrl, apiKey };
  await create(args);
  actions();
  const error = await failureOf(create(again));
  expect(error).toMatchObject({ code: "conflict", hints: [{ id: "separate_workspaces" }] });
  expect(error.summary).toContain('"acme" and "again"');
  expect(actions()).toEqual(GET);
  expect(acme.registration?.webhook_url).toBe(args.webhookUrl);
  // If only the response of set-webhook shows the conflict, the state records the webhook.
  acme.removeRegistration();
  expect((await unfinishedBy(create(again))).id).toBe(acme.botUrl);
});

test("a second resource of the same name does not adopt the webhook of the first", async () => {
  const { state, args, acme } = await startCreated();
  expect(await hasChanges(state, args)).toBe(false);
  const { url: webhookUrl } = await startEndpoint(VERIFICATION_KEY, "/second");
  expect((await failureOf(create({ ...args, webhookUrl }))).code).toBe("conflict");
  expect(acme.registration?.webhook_url).toBe(args.webhookUrl);
});

test.each<[string, (state: WebhookState, args: Acme["args"]) => Promise<unknown>]>([
  ["after a refresh", refresh],
  ["after a diff", (state, args) => hasChanges(state, { ...args, onExisting: "replace" })],
])("a conflict with another resource of this stack names that resource, even %s", async (_, see) => {
  const { state, args } = await startCreated();
  await see(state, args);
  const { url: webhookUrl } = await startEndpoint(VERIFICATION_KEY, "/second");
  const baseUrl = `${args.baseUrl}?of=x`;
  const error = await failureOf(create({ ...args, name: "again", baseUrl, webhookUrl }));
  expect(error.code).toBe("conflict");
  expect(error.summary).toContain(`${args.webhookUrl}, registered by this stack's own resource "acme"`);
});
