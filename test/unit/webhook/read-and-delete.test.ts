import { describe, expect, test, vi } from "vitest";
import type { Fault } from "../../../provider/emulator/index.js";
import { memoryLog, type RunLog } from "../../../provider/webhook/run-log.js";
import { DRIFTED_KEY, KEY_DRIFTED, inputsOf, type WebhookState } from "../../../provider/webhook/state.js";
import {
  API_KEY,
  FOREIGN,
  GET,
  SET,
  VERIFICATION_KEY,
  checked,
  create,
  failureOf,
  hasChanges,
  isolateRuns,
  read,
  refresh,
  remove,
  startCreated,
  startEndpoint,
  startRun,
  update,
  type Acme,
  lifecycle,
} from "./harness.js";

const lines = isolateRuns();

type Created = Awaited<ReturnType<typeof startCreated>>;

const ROTATED = "ak-rotated-0123456789";
const WRONG = "ak-wrong-0123456789";

describe("read", () => {
  test("returns a changed URL, status or bot URL as drift, and keeps the record of what was last set", async () => {
    const { state, acme } = await startCreated();
    const { webhook_url: webhookUrl } = FOREIGN;
    acme.change({ webhook_url: webhookUrl, webhook_status: "failed", botBaseUrl: "https://bots.example" });
    const { botUrl } = acme;
    expect(await read(state)).toEqual({
      id: botUrl,
      props: {
        ...state,
        webhookUrl,
        status: "failed",
        botUrl,
        drift: [
          { property: "webhookUrl", expected: state.webhookUrl, actual: webhookUrl },
          { property: "status", expected: "verified", actual: "failed" },
          { property: "botUrl", expected: state.botUrl, actual: botUrl },
        ],
      },
      inputs: { ...inputsOf(state), webhookUrl, status: "failed" },
    });
  });

  test("never stores a key from a response, but marks the key as drifted until it is ours again", async () => {
    const { state, acme } = await startCreated();
    acme.change({ webhook_verification_key: FOREIGN.webhook_verification_key });
    const seen = await read(state);
    const drifted = { ...state, drift: [DRIFTED_KEY] };
    const inputs = { ...inputsOf(state), webhookVerificationKey: KEY_DRIFTED };
    expect(seen).toEqual({ id: state.botUrl, props: drifted, inputs });
    acme.change({ webhook_verification_key: VERIFICATION_KEY });
    expect(await refresh(drifted)).toEqual(state);
  });

  test("reports a missing registration as gone, and a different bot as a conflict", async () => {
    const { state, acme } = await startCreated();
    acme.change({ botCode: "another-bot" });
    expect((await failureOf(read(state))).code).toBe("conflict");
    acme.removeRegistration();
    expect(await read(state)).toBeUndefined();
  });

  test.each<[Fault, string]>([
    [{ status: 401 }, "unauthorized"],
    [{ status: 503, retryAfterSeconds: 60 }, "unavailable"],
    ["html", "protocol"],
    [{ statusField: "error" }, "rejected"],
  ])("fails for the response %j instead of reporting the webhook as gone", async (fault, code) => {
    const { state, emulator } = await startCreated();
    emulator.injectFault({ operation: "get-webhook", fault, times: 9 });
    expect((await failureOf(read(state))).code).toBe(code);
  });

  test("like delete, reports the command that removes a deleted workspace from the state", async () => {
    const { state, emulator } = await startCreated();
    emulator.removeWorkspace("acme");
    for (const call of [read, remove]) {
      expect((await failureOf(call(state))).message).toMatch(
        /HTTP 404.*Check baseUrl\. If the workspace no longer exists, run pulumi state delete <urn>$/,
      );
    }
  });
});

describe("delete", () => {
  test.each<[string, (acme: Acme["acme"], url: string) => void]>([
    ["our webhook", () => {}],
    ["our webhook with a changed key", (acme) => acme.change({ webhook_verification_key: "key-0123456789" })],
    ["our webhook, not verified", (acme) => acme.change({ webhook_status: "failed" })],
    ["our webhook, written differently", (acme, url) => acme.change({ webhook_url: `${url}/` })],
  ])("removes %s", async (_, change) => {
    const { state, acme, actions } = await startCreated();
    change(acme, state.webhookUrl);
    const seen = await refresh(state);
    actions();
    await remove(seen);
    expect(actions()).toEqual(["get-webhook", "delete-webhook"]);
    expect(acme.registration).toBeUndefined();
    expect(lines).toEqual([]);
  });

  test.each<[string, (acme: Acme["acme"]) => void]>([
    ["another URL and key", (acme) => acme.takeOver(FOREIGN)],
    ["a different URL with our key", (acme) => acme.change({ webhook_url: FOREIGN.webhook_url })],
    ["another bot", (acme) => acme.change({ botCode: "another-bot" })],
  ])("leaves %s in place, with a warning, even after a refresh", async (_, change) => {
    const { state, acme, actions } = await startCreated();
    change(acme);
    const before = acme.registration;
    const states = [state, ...(acme.botUrl === state.botUrl ? [await refresh(state)] : [])];
    actions();
    for (const seen of states) await remove(seen);
    expect(actions()).toEqual(states.map(() => "get-webhook"));
    expect(acme.registration).toEqual(before);
    const line = expect.stringMatching(/^acme: warning: .* is not ours; it was not removed$/) as string;
    expect(lines).toEqual(states.map(() => line));
  });

  test("fails with a conflict if a different API key reaches a different workspace", async () => {
    const { state, emulator, actions } = await startCreated();
    const other = emulator.addWorkspace({ name: "twin", path: "acme", apiKey: WRONG });
    for (const registered of [FOREIGN, undefined]) {
      if (registered) other.takeOver(registered);
      else other.removeRegistration();
      const error = await failureOf(remove({ ...state, apiKey: WRONG }));
      expect(error).toMatchObject({ code: "conflict", hints: [{ id: "set_api_key_or_forget" }] });
    }
    expect(actions()).toEqual([...GET, ...GET]);
  });

  test("calls get-webhook after a 503, then tries again", async () => {
    const { state, acme, emulator, actions } = await startCreated();
    emulator.injectFault({ operation: "delete-webhook", fault: { status: 503 } });
    await remove(state);
    expect(acme.registration).toBeUndefined();
    expect(actions().slice(0, 3)).toEqual(["get-webhook", "delete-webhook", "get-webhook"]);
  });

  test("does not try again if get-webhook then finds somebody else's webhook", async () => {
    const { state, acme, emulator, actions } = await startCreated();
    emulator.injectFault({ operation: "delete-webhook", fault: "close-after" });
    emulator.injectFault({ operation: "get-webhook", every: 2, fault: { delayMs: 1_000 } });
    const removed = remove(state);
    await expect.poll(() => acme.registration, { interval: 1 }).toBeUndefined();
    acme.takeOver(FOREIGN);
    await removed;
    expect(acme.registration).toMatchObject(FOREIGN);
    expect(actions()).toEqual(["get-webhook", "delete-webhook", "get-webhook"]);
    expect(lines).toEqual([expect.stringContaining("is not ours; it was not removed")]);
  });
});

test.each([
  ["created", create, []],
  ["only declared", checked, GET],
])("delete keeps a renamed resource's webhook if the new name is %s", async (_, declare, calls) => {
  const { state, args, acme, actions } = await startCreated();
  await declare({ ...args, name: "renamed" });
  actions();
  await remove(state);
  expect(actions()).toEqual(calls);
  expect(acme.registration?.webhook_url).toBe(state.webhookUrl);
  expect(lines.at(-1)).toMatch(/^acme: .*still managed by this program, as "renamed"$/);
});

test("a delete before a replacement keeps the live webhook, and the create then sets the new URL", async () => {
  const { state, args, acme, actions } = await startCreated();
  const { url: webhookUrl } = await startEndpoint(VERIFICATION_KEY, "/moved");
  const inputs = await checked({ ...args, webhookUrl });
  await remove(state);
  expect(acme.registration?.webhook_url).toBe(state.webhookUrl);
  actions();
  await lifecycle().create(inputs);
  expect(actions()).toEqual(SET);
  expect(acme.registration?.webhook_url).toBe(webhookUrl);
});

/** Adopts the existing registration. */
const adopt = ({ args }: Acme): Promise<WebhookState> => create(args);

const [none, unshared] = [memoryLog(), memoryLog("/state is open to other users")];
const STAYS = new RegExp(
  "^acme: warning: the webhook stays: .* run: npx .*apichat webhook delete " +
    "--base-url 'http:.*' --webhook-url 'http:.*/hook'$",
);

const setSince = async (on: Created): Promise<WebhookState> => {
  const state = await adopt(on);
  on.acme.change({ webhook_status: "failed" });
  return update(state, on.args);
};
const adoptWithOtherKey = (on: Created): Promise<WebhookState> => {
  on.acme.change({ webhook_verification_key: "key-0123456789" });
  return adopt(on);
};

test.each<[string, (created: Created) => Promise<WebhookState> | WebhookState, RunLog, boolean]>([
  ["created it", ({ state }) => state, unshared, false],
  ["adopted it, with shared facts", adopt, none, false],
  ["adopted it and wrote nothing since", async (on) => update(await adopt(on), on.args), unshared, true],
  ["adopted it and later set it", setSince, unshared, false],
  ["adopted it, and set its different key", adoptWithOtherKey, unshared, false],
])("delete removes the webhook only if that is safe: the resource %s", async (_, prepare, log, stays) => {
  const created = await startCreated();
  const state = await prepare(created);
  startRun({}, log);
  lines.length = 0;
  await remove(state);
  expect(created.acme.registration !== undefined).toBe(stays);
  expect(lines.join("\n")).toMatch(stays ? STAYS : /^$/);
});

test("errors use the new name of a renamed resource", async () => {
  const { state, args, emulator } = await startCreated();
  expect(await hasChanges(state, { ...args, name: "beta" })).toBe(true);
  emulator.injectFault({ operation: "get-webhook", fault: { status: 422 }, times: 2 });
  expect((await failureOf(read(state))).subject).toBe("beta");
  expect((await failureOf(remove(state))).subject).toBe("beta");
  expect((await update(state, { ...args, name: "beta" })).name).toBe("beta");
});

test("delete before a replacement only warns if just the new API key works and finds nothing", async () => {
  const { state, args, acme } = await startCreated();
  await checked({ ...args, apiKey: ROTATED });
  acme.change({ apiKey: ROTATED });
  acme.removeRegistration();
  await remove(state);
  const warning = /^acme: warning: .* has no webhook, but this was checked with a different API key/;
  expect(lines).toEqual([expect.stringMatching(warning)]);
});

test("delete before a replacement removes the previous API key's webhook if that key still works", async () => {
  const { state, acme, emulator } = await startCreated();
  emulator.addWorkspace({ name: "twin", path: "acme", apiKey: ROTATED });
  await checked({ ...inputsOf(state), apiKey: ROTATED });
  await remove(state);
  expect(acme.registration).toBeUndefined();
});

test("if an API key is rejected, read and delete try the configuration's key, then the environment's", async () => {
  const { state, acme, emulator } = await startCreated();
  acme.change({ apiKey: ROTATED });
  vi.stubEnv("APICHAT_API_KEY", ROTATED);
  startRun({ "apichat:apiKey": WRONG });
  const from = emulator.requests.length;
  expect(await refresh(state)).toEqual(state);
  const sent = emulator.requests.slice(from).map((request) => JSON.parse(request.request.body) as object);
  expect(sent).toEqual([API_KEY, WRONG, ROTATED].map((ChaveApi) => ({ ChaveApi })));
  await remove(state);
  expect(acme.registration).toBeUndefined();
});
