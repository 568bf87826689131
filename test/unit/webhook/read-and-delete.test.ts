import { describe, expect, test, vi } from "vitest";
import { ApiChatWebhook } from "../../../provider/dynamic.js";
import type { Fault } from "../../../provider/emulator/index.js";
import { DRIFTED_KEY, compactState, type StoredState } from "../../../provider/webhook/state.js";
import { UNKNOWN } from "../../../provider/lib/checks.js";
import {
  KEY_DRIFTED,
  inputsOf,
  type WebhookInputs,
  type WebhookState,
} from "../../../provider/webhook/contract.js";
import {
  API_KEY,
  VERIFICATION_KEY,
  checked,
  create,
  failureOf,
  isolateRuns,
  read,
  refresh,
  startAcme,
  startEndpoint,
  startRun,
  type Acme,
} from "./harness.js";

const lines = isolateRuns();

const FOREIGN = {
  webhook_url: "http://127.0.0.1:9/foreign",
  webhook_verification_key: "foreign-key-0123456789",
};

/** A created webhook, in a run that knows nothing of the program: a refresh or a destroy. */
async function startCreated(
  options: Parameters<typeof startAcme>[0] = {},
): Promise<Acme & { state: WebhookState }> {
  const started = await startAcme(options);
  const { outs: state } = await create(started.args);
  started.actions();
  lines.length = 0;
  startRun();
  return { ...started, state };
}

const remove = (state: WebhookState): Promise<void> =>
  ApiChatWebhook.delete(state.botUrl, compactState(state));

describe("read", () => {
  test("gives what it got while nothing changed", async () => {
    const { state, actions } = await startCreated();
    expect(await read(state)).toEqual({ id: state.botUrl, props: state, inputs: inputsOf(state) });
    expect(actions()).toEqual(["get-webhook"]);
    expect(lines).toEqual([]);
  });

  test("shows a changed URL, status and bot URL in outputs and inputs, and keeps the record of what is ours", async () => {
    const { state, acme } = await startCreated();
    acme.change({
      webhook_url: FOREIGN.webhook_url,
      webhook_status: "failed",
      botBaseUrl: "https://bots.example",
    });
    const result = await read(state);
    expect(result.id).toBe(acme.botUrl);
    expect(result.props).toEqual({
      ...state,
      webhookUrl: FOREIGN.webhook_url,
      status: "failed",
      botUrl: acme.botUrl,
      drift: [
        { property: "webhookUrl", expected: state.webhookUrl, actual: FOREIGN.webhook_url },
        { property: "status", expected: "verified", actual: "failed" },
        { property: "botUrl", expected: state.botUrl, actual: acme.botUrl },
      ],
    });
    expect(result.inputs).toEqual({ ...inputsOf(state), webhookUrl: FOREIGN.webhook_url, status: "failed" });
  });

  test("never takes a key from an answer: a changed one is marked", async () => {
    const { state, acme } = await startCreated();
    acme.change({ webhook_verification_key: FOREIGN.webhook_verification_key });
    const { props, inputs } = await read(state);
    expect(props).toEqual({ ...state, drift: [DRIFTED_KEY] });
    expect(inputs?.webhookVerificationKey).toBe(KEY_DRIFTED);
    expect(JSON.stringify([props, inputs, lines])).not.toContain("foreign-key");
    acme.change({ webhook_verification_key: VERIFICATION_KEY });
    expect(await refresh(props ?? state)).toEqual(state);
  });

  test("of nothing registered is gone", async () => {
    const { state, acme } = await startCreated();
    acme.remove();
    expect(await read(state)).toEqual({});
  });

  test("of another bot is a conflict", async () => {
    const { state, acme } = await startCreated();
    acme.change({ botCode: "another-bot" });
    expect((await failureOf(read(state))).code).toBe("conflict");
  });

  test.each<[string, Fault, string]>([
    ["401", { status: 401 }, "unauthorized"],
    ["404", { status: 404 }, "rejected"],
    ["503 for too long", { status: 503, retryAfterSeconds: 60 }, "unavailable"],
    ["HTML", "html", "protocol"],
    ["broken JSON", "broken-json", "protocol"],
    ["another envelope status", { statusField: "error" }, "rejected"],
  ])("answered %s is an error, and never gone", async (_, fault, code) => {
    const { state, emulator } = await startCreated();
    emulator.injectFault({ operation: "get-webhook", fault, times: 9 });
    expect((await failureOf(read(state))).code).toBe(code);
  });

  test("by id alone is refused, with the way to read a registration", async () => {
    const error = await failureOf(ApiChatWebhook.read("some-id", { name: "acme" } as StoredState));
    expect(error.code).toBe("invalid_config");
    expect(error.message).toContain("getApiChatWebhook()");
  });
});

describe("delete", () => {
  test("removes what is ours", async () => {
    const { state, acme, actions } = await startCreated();
    await remove(state);
    expect(actions()).toEqual(["get-webhook", "delete-webhook"]);
    expect(acme.registration).toBeUndefined();
    expect(lines).toEqual([]);
  });

  test("removes what is ours with a changed key or status", async () => {
    const { state, acme } = await startCreated();
    acme.change({ webhook_verification_key: "changed-key-0123456789", webhook_status: "failed" });
    await remove(await refresh(state));
    expect(acme.registration).toBeUndefined();
  });

  test("is done where nothing is registered", async () => {
    const { state, acme, actions } = await startCreated();
    acme.remove();
    await remove(state);
    expect(actions()).toEqual(["get-webhook"]);
  });

  test.each<[string, (acme: Acme["acme"]) => void]>([
    ["another URL and key", (acme) => acme.takeOver(FOREIGN)],
    ["another URL with our key", (acme) => acme.change({ webhook_url: FOREIGN.webhook_url })],
    ["another bot", (acme) => acme.change({ botCode: "another-bot" })],
  ])("leaves %s alone, with a warning, also after a refresh", async (_, change) => {
    const { state, acme, actions } = await startCreated();
    change(acme);
    const before = acme.registration;
    const states = [state, ...(acme.botUrl === state.botUrl ? [await refresh(state)] : [])];
    actions();
    lines.length = 0;
    for (const seen of states) await remove(seen);
    expect(actions()).toEqual(states.map(() => "get-webhook"));
    expect(acme.registration).toEqual(before);
    expect(lines).toHaveLength(states.length);
    for (const line of lines) expect(line).toMatch(/^acme: warning: .* is not ours; it stays$/);
  });

  test("with another API key that reaches another workspace is a conflict, and deletes nothing", async () => {
    const { state, emulator, acme } = await startCreated();
    const other = emulator.addWorkspace({ name: "twin", path: "acme", apiKey: "ak-twin-0123456789" });
    for (const stands of [FOREIGN, undefined]) {
      if (stands) other.takeOver(stands);
      else other.remove();
      const error = await failureOf(remove({ ...state, apiKey: "ak-twin-0123456789" }));
      expect(error.code).toBe("conflict");
      expect(error.message).toContain("nothing was deleted");
    }
    expect(acme.registration?.webhook_url).toBe(state.webhookUrl);
  });

  test.each<Fault>([
    "close-before",
    "close-after",
    "truncated",
    { status: 503 },
    { status: 503, afterChange: true },
  ])("is repeated after %j, and looks again first", async (fault) => {
    const { state, acme, emulator, actions } = await startCreated();
    emulator.injectFault({ operation: "delete-webhook", fault });
    await remove(state);
    expect(acme.registration).toBeUndefined();
    expect(actions().slice(0, 3)).toEqual(["get-webhook", "delete-webhook", "get-webhook"]);
  });

  test("that is repeated leaves alone what somebody else registered in between", async () => {
    const { state, acme, emulator, actions } = await startCreated();
    emulator.injectFault({ operation: "delete-webhook", fault: "close-after" });
    const removed = remove(state);
    await expect.poll(() => acme.registration, { interval: 1 }).toBeUndefined();
    acme.takeOver(FOREIGN);
    await removed;
    expect(acme.registration).toMatchObject(FOREIGN);
    expect(actions()).toEqual(["get-webhook", "delete-webhook", "get-webhook"]);
    expect(lines).toEqual([expect.stringContaining("is not ours; it stays")]);
  });

  test("that the service refuses is an error", async () => {
    const { state, acme, emulator } = await startCreated();
    emulator.injectFault({ operation: "delete-webhook", fault: { status: 422 } });
    expect((await failureOf(remove(state))).code).toBe("rejected");
    expect(acme.registration?.webhook_url).toBe(state.webhookUrl);
  });
});

describe("delete within a run of the program", () => {
  test("does nothing for an old name of a resource that the program declares, and says so", async () => {
    const { state, args, acme, actions } = await startCreated();
    await create({ ...args, name: "renamed" });
    actions();
    lines.length = 0;
    await remove(state);
    expect(actions()).toEqual([]);
    expect(acme.registration?.webhook_url).toBe(state.webhookUrl);
    expect(lines).toEqual([expect.stringMatching(/^acme: .*still managed by this program, as "renamed"$/)]);
  });

  test("does nothing if the new name is only declared yet", async () => {
    const { state, args, acme } = await startCreated();
    await checked({ ...args, name: "renamed" });
    await remove(state);
    expect(acme.registration?.webhook_url).toBe(state.webhookUrl);
  });

  test("does nothing for an old state of the same name: a replacement that was created first", async () => {
    const { state, args, acme } = await startCreated();
    const { outs } = await create(args);
    expect(outs.applied.claimId).not.toBe(state.applied.claimId);
    await remove(state);
    expect(acme.registration?.webhook_url).toBe(state.webhookUrl);
    await remove(outs);
    expect(acme.registration).toBeUndefined();
  });

  test("removes a resource that the program declares itself: --replace deletes first", async () => {
    const { state, args, acme } = await startCreated();
    await ApiChatWebhook.diff(state.botUrl, compactState(state), await checked(args));
    await remove(state);
    expect(acme.registration).toBeUndefined();
  });
});

/** The state of acme, which the program of this run declares as beta. */
async function startRenamed(): Promise<Acme & { state: WebhookState; inputs: WebhookInputs }> {
  const started = await startCreated();
  const inputs = await checked({ ...started.args, name: "beta" });
  const found = await ApiChatWebhook.diff(started.state.botUrl, compactState(started.state), inputs);
  expect(found.changes).toBe(true);
  return { ...started, inputs };
}

describe("a resource whose name an alias changed", () => {
  test("is replaced in place: delete leaves the webhook to create, which sets the new URL", async () => {
    const { state, args, acme } = await startCreated();
    const moved = await startEndpoint(VERIFICATION_KEY, "/moved");
    // For --replace the engine calls check without old inputs, no diff, delete and create.
    const renamed = { ...args, name: "beta", webhookUrl: moved.url };
    await checked(renamed);
    await remove(state);
    await create(renamed);
    expect(acme.registration).toMatchObject({ webhook_url: moved.url, webhook_status: "verified" });
  });

  test("is named as the program names it in every error", async () => {
    const { state, emulator } = await startRenamed();
    emulator.injectFault({ operation: "get-webhook", fault: { status: 422 }, times: 2 });
    expect((await failureOf(read(state))).message).toMatch(/^beta: /);
    expect((await failureOf(remove(state))).message).toMatch(/^beta: /);
  });

  test("has its new name in the state after the update", async () => {
    const { state, inputs, actions } = await startRenamed();
    const { outs } = await ApiChatWebhook.update(state.botUrl, compactState(state), inputs);
    expect(outs.name).toBe("beta");
    expect(actions()).toEqual(["get-webhook"]);
  });
});

async function startReplacing(change: Partial<WebhookInputs>): Promise<Acme & { state: WebhookState }> {
  const started = await startCreated();
  const args = { ...started.args, ...change };
  await checked(args);
  return started;
}

describe("a replacement that the program declares", () => {
  const timeouts = { requestSeconds: 3, readySeconds: 0 };

  test("is tried before the live webhook is removed", async () => {
    const { state, acme } = await startReplacing({ webhookUrl: "http://127.0.0.1:9/", timeouts });
    expect((await failureOf(remove(state))).code).toBe("handshake_failed");
    expect(acme.registration?.webhook_url).toBe(state.webhookUrl);
  });

  test("is not tried while it is unknown", async () => {
    const { state, acme } = await startReplacing({ webhookUrl: UNKNOWN, timeouts });
    await remove(state);
    expect(acme.registration).toBeUndefined();
  });

  test("goes on where nothing is registered for another API key than the last used", async () => {
    const { state, acme } = await startReplacing({ apiKey: "ak-rotated-0123456789" });
    acme.apiKey = "ak-rotated-0123456789";
    acme.remove();
    await remove(state);
    expect(lines.at(-1)).toMatch(/^acme: warning: .* nothing registered, for another API key/);
  });
});

describe("the API key to read and delete with is the first that the service takes:", () => {
  const ROTATED = "ak-rotated-0123456789";
  const WRONG = "ak-wrong-0123456789";

  test.each<[string, string | undefined, string | undefined, string[]]>([
    ["the environment's", ROTATED, undefined, [API_KEY, ROTATED]],
    ["the configuration's", undefined, ROTATED, [API_KEY, ROTATED]],
    ["the configuration's, after the environment's", WRONG, ROTATED, [API_KEY, WRONG, ROTATED]],
  ])("%s, if the recorded one is refused", async (_, environment, config, tried) => {
    const { state, acme, emulator } = await startCreated();
    acme.apiKey = ROTATED;
    vi.stubEnv("APICHAT_API_KEY", environment);
    startRun(config === undefined ? {} : { "apichat:apiKey": config });
    const from = emulator.requests.length;
    expect(await refresh(state)).toEqual(state);
    const keys = emulator.requests
      .slice(from)
      .map(({ sent }) => (JSON.parse(sent.body) as { ChaveApi: string }).ChaveApi);
    expect(keys).toEqual(tried);
    await remove(state);
    expect(acme.registration).toBeUndefined();
  });

  test("the program's of this run", async () => {
    const { state, args, acme } = await startCreated();
    acme.apiKey = ROTATED;
    await checked({ ...args, apiKey: ROTATED });
    expect(await refresh(state)).toEqual(state);
  });

  test("also where a service refuses a key with HTTP 200", async () => {
    const { state, acme, emulator } = await startCreated();
    emulator.injectFault({ operation: "get-webhook", fault: { statusField: "error" } });
    vi.stubEnv("APICHAT_API_KEY", ROTATED);
    emulator.addWorkspace({ name: "again", path: "acme", apiKey: ROTATED }).change({ owner: "acme" });
    expect(await refresh(state)).toEqual(state);
    expect(acme.registration?.webhook_url).toBe(state.webhookUrl);
    emulator.injectFault({ operation: "get-webhook", fault: { statusField: "error" }, times: 2 });
    const error = await failureOf(read(state));
    expect(error.code).toBe("rejected");
    expect(error.message.indexOf("API key")).toBeGreaterThan(0);
  });

  test("none: the refusal of the recorded one is told, with what to do", async () => {
    const { state, acme } = await startCreated();
    acme.apiKey = ROTATED;
    vi.stubEnv("APICHAT_API_KEY", WRONG);
    const error = await failureOf(read(state));
    expect(error.code).toBe("unauthorized");
    expect(error.message).toContain("set APICHAT_API_KEY");
    expect(error.message).not.toContain("0123456789");
    expect((await failureOf(remove(state))).code).toBe("unauthorized");
    expect(acme.registration?.webhook_url).toBe(state.webhookUrl);
  });

  test("another one that shows nothing registered does not make it gone", async () => {
    const { state, acme, emulator } = await startCreated();
    emulator.addWorkspace({ name: "twin", path: "acme", apiKey: WRONG });
    acme.apiKey = ROTATED;
    vi.stubEnv("APICHAT_API_KEY", WRONG);
    expect((await failureOf(read(state))).code).toBe("conflict");
  });
});
