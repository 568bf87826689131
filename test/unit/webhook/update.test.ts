import { describe, expect, test, vi } from "vitest";
import { ApiChatWebhook } from "../../../provider/dynamic.js";
import type { Fault } from "../../../provider/emulator/index.js";
import type { WebhookInputs, WebhookState } from "../../../provider/webhook/contract.js";
import { removalCommand } from "../../../provider/errors/index.js";
import { UnfinishedError, compactState, expandState } from "../../../provider/webhook/state.js";
import { findSecrets } from "../../support/secrets.js";
import {
  API_KEY,
  VERIFICATION_KEY,
  checked,
  create,
  errorOf,
  failureOf,
  isolateRuns,
  parametersOf,
  refresh,
  startAcme,
  startEndpoint,
  startRun,
  startServer,
  update,
  type Acme,
} from "./harness.js";

const lines = isolateRuns();

const OTHER_KEY = "ak-other-0123456789";
const FOREIGN = {
  webhook_url: "http://127.0.0.1:9/foreign",
  webhook_verification_key: "foreign-key-0123456789",
};
const GET = ["get-webhook"];
const SET = ["get-webhook", "set-webhook", "get-webhook"];

/** A created webhook, at the start of the next run. */
async function startCreated(
  options: Parameters<typeof startAcme>[0] = {},
): Promise<Acme & { state: WebhookState }> {
  const started = await startAcme(options);
  const { outs: state } = await create(started.args);
  started.actions();
  startRun();
  return { ...started, state };
}

describe("a change of", () => {
  test("nothing calls get-webhook only", async () => {
    const { state, args, actions } = await startCreated();
    expect(await update(state, args)).toEqual(state);
    expect(actions()).toEqual(GET);
  });

  test("the URL is pushed", async () => {
    const { state, args, actions, acme } = await startCreated();
    const moved = await startEndpoint(VERIFICATION_KEY, "/moved");
    const after = await update(state, { ...args, webhookUrl: moved.url });
    expect(actions()).toEqual(SET);
    expect(acme.registration?.webhook_url).toBe(moved.url);
    expect(after).toMatchObject({
      webhookUrl: moved.url,
      applied: { url: moved.url, claimId: state.applied.claimId },
    });
  });

  test("the key alone is pushed", async () => {
    const { args, actions, acme } = await startAcme();
    const { origin } = await startServer((request, response) =>
      response.end(parametersOf(request)["hub_challenge"]),
    );
    const { outs: state } = await create({ ...args, webhookUrl: origin });
    actions();
    startRun();
    const webhookVerificationKey = "the-next-key-0123456789";
    const after = await update(state, { ...args, webhookUrl: origin, webhookVerificationKey });
    expect(actions()).toEqual(SET);
    expect(acme.registration?.webhook_verification_key).toBe(webhookVerificationKey);
    expect(after).toMatchObject({ webhookUrl: origin, webhookVerificationKey, botUrl: state.botUrl });
  });

  test.each<Partial<WebhookInputs>>([
    { onExisting: "replace" },
    { preflight: "off" },
    { timeouts: { requestSeconds: 5 } },
  ])("%j calls get-webhook only", async (change) => {
    const { state, args, actions } = await startCreated();
    expect(await update(state, { ...args, ...change })).toEqual({ ...state, ...change });
    expect(actions()).toEqual(GET);
  });

  test("the URL to one that fails the preflight leaves the live registration alone", async () => {
    const { state, args, actions, acme } = await startCreated();
    const change = { webhookUrl: "http://127.0.0.1:9/", timeouts: { requestSeconds: 3, readySeconds: 0 } };
    expect((await failureOf(update(state, { ...args, ...change }))).code).toBe("handshake_failed");
    expect(actions()).toEqual(GET);
    expect(acme.registration?.webhook_url).toBe(args.webhookUrl);
  });

  test("the URL to one that the service refuses puts the live registration back", async () => {
    const { state, args, acme, emulator } = await startCreated({ failedHandshake: "clears", maskKey: true });
    const moved = await startEndpoint(VERIFICATION_KEY, "/moved");
    emulator.injectFault({ operation: "handshake", fault: { status: 500 } });
    const change = { webhookUrl: moved.url, timeouts: { requestSeconds: 3, readySeconds: 0 } };
    const error = await failureOf(update(state, { ...args, ...change }));
    expect(error.message).toContain("Put back: ");
    expect(acme.registration).toMatchObject({
      webhook_url: args.webhookUrl,
      webhook_verification_key: VERIFICATION_KEY,
      webhook_status: "verified",
    });
  });
});

describe("what changed behind our back", () => {
  test("gone: it is set again", async () => {
    const { state, args, actions, acme } = await startCreated();
    acme.remove();
    expect(await update(state, args)).toEqual(state);
    expect(actions()).toEqual(SET);
    expect(acme.registration?.webhook_url).toBe(args.webhookUrl);
  });

  test.each<[string, Parameters<Acme["acme"]["change"]>[0]]>([
    ["the status", { webhook_status: "failed" }],
    ["the key", { webhook_verification_key: "changed-key-0123456789" }],
  ])("%s: it is set again, with or without a refresh before", async (_, change) => {
    for (const refreshes of [false, true]) {
      const { state, args, actions, acme } = await startCreated();
      acme.change(change);
      const seen = refreshes ? await refresh(state) : state;
      actions();
      expect(await update(seen, args)).toEqual(state);
      expect(actions()).toEqual(SET);
      expect(acme.registration).toMatchObject({
        webhook_verification_key: VERIFICATION_KEY,
        webhook_status: "verified",
      });
    }
  });

  test("the URL, with our key: a conflict until a refresh has shown it, then it is set again", async () => {
    const { state, args, actions, acme } = await startCreated();
    acme.change({ webhook_url: FOREIGN.webhook_url });
    const error = await failureOf(update(state, args));
    expect(error.code).toBe("conflict");
    expect(error.message).toMatch(/^acme: .*\/foreign, not .*nothing was written. Run pulumi refresh/);
    expect(actions()).toEqual(GET);
    const refreshed = await refresh(state);
    expect(refreshed.webhookUrl).toBe(FOREIGN.webhook_url);
    expect(refreshed.applied).toEqual(state.applied);
    expect(await update(refreshed, args)).toEqual(state);
    expect(acme.registration?.webhook_url).toBe(args.webhookUrl);
  });

  test("the URL, to one with a query: the state hides its values, and it is set again", async () => {
    const { state, args, acme } = await startCreated();
    acme.change({ webhook_url: `${FOREIGN.webhook_url}?token=query-value` });
    const refreshed = await refresh(state);
    expect(refreshed.webhookUrl).toBe(`${FOREIGN.webhook_url}?token=***`);
    expect(await update(refreshed, args)).toEqual(state);
  });

  test("URL and key: somebody else's, a conflict also after a refresh, unless it may be replaced", async () => {
    const { state, args, acme } = await startCreated();
    acme.takeOver(FOREIGN);
    for (const seen of [state, await refresh(state)]) {
      const error = await failureOf(update(seen, args));
      expect(error.code).toBe("conflict");
      expect(error.message).toContain(
        removalCommand({ baseUrl: args.baseUrl, webhookUrl: FOREIGN.webhook_url }),
      );
      expect(acme.registration).toMatchObject(FOREIGN);
    }
    const replacing = { ...args, onExisting: "replace" } as const;
    expect(await update(state, replacing)).toEqual({ ...state, onExisting: "replace" });
    expect(acme.registration?.webhook_url).toBe(args.webhookUrl);
  });

  test("the URL, to the one that the program now wants: it is taken as it is", async () => {
    const { state, args, acme, actions } = await startCreated();
    const moved = await startEndpoint(VERIFICATION_KEY, "/moved");
    acme.change({ webhook_url: moved.url });
    expect(await update(state, { ...args, webhookUrl: moved.url })).toMatchObject({
      applied: { url: moved.url },
    });
    expect(actions()).toEqual(GET);
  });

  test("the bot's host: it is recorded, and nothing is set", async () => {
    const { state, args, acme, actions } = await startCreated();
    acme.change({ botBaseUrl: "https://bots.example" });
    const refreshed = await refresh(state);
    expect(refreshed.botUrl).toBe(acme.botUrl);
    actions();
    const after = await update(refreshed, args);
    expect(after).toMatchObject({ botUrl: acme.botUrl, applied: { botUrl: acme.botUrl } });
    expect(actions()).toEqual(GET);
  });

  test("the bot: a conflict, also with onExisting replace", async () => {
    const { state, args, acme, actions } = await startCreated();
    acme.change({ botCode: "another-bot" });
    const error = await failureOf(update(state, { ...args, onExisting: "replace" }));
    expect(error.code).toBe("conflict");
    expect(error.message).toMatch(/reaches the bot another-bot, not .*--replace/);
    expect(actions()).toEqual(GET);
  });
});

describe("a changed address or API key", () => {
  test("that reaches the same bot is recorded, and nothing is set", async () => {
    const { state, args, emulator, actions } = await startCreated();
    const moved = emulator.addWorkspace({ name: "moved", apiKey: "ak-moved-0123456789" });
    moved.change({ owner: "acme" });
    const change = { baseUrl: moved.baseUrl, apiKey: "ak-moved-0123456789" };
    const after = await update(state, { ...args, ...change });
    expect(after).toMatchObject({ ...change, botUrl: state.botUrl });
    expect(after.applied.apiKey).not.toBe(state.applied.apiKey);
    expect(actions()).toEqual(GET);
  });

  test("that reaches another bot is a conflict, and nothing is written", async () => {
    const { state, args, emulator, actions } = await startCreated();
    const other = emulator.workspace("other");
    other.takeOver(FOREIGN);
    const change = { baseUrl: other.baseUrl, apiKey: OTHER_KEY };
    expect((await failureOf(update(state, { ...args, ...change, onExisting: "replace" }))).code).toBe(
      "conflict",
    );
    expect(actions()).toEqual(GET);
    expect(other.registration).toMatchObject(FOREIGN);
  });

  test("that reaches an empty workspace is a conflict, because nothing tells whose it is", async () => {
    const { state, args, emulator, actions } = await startCreated();
    const other = emulator.workspace("other");
    const change = { baseUrl: other.baseUrl, apiKey: OTHER_KEY };
    const error = await failureOf(update(state, { ...args, ...change }));
    expect(error.code).toBe("conflict");
    expect(error.message).toContain("nothing registered");
    expect(actions()).toEqual(GET);
    expect(other.registration).toBeUndefined();
  });

  test("a rotated API key for the same bot is recorded", async () => {
    const { state, args, acme, actions } = await startCreated();
    acme.apiKey = "ak-rotated-0123456789";
    const after = await update(state, { ...args, apiKey: "ak-rotated-0123456789" });
    expect(after.apiKey).toBe("ak-rotated-0123456789");
    expect(actions()).toEqual(GET);
  });
});

describe("a set-webhook whose answer is lost", () => {
  /** The first look finds what to do, the second is to recover what was lost. */
  const secondLookFails = { operation: "get-webhook", every: 2, times: 1, fault: { status: 422 } } as const;

  /** URL and key changed, and nobody has seen whether it worked. */
  async function startLost(fault: Fault): Promise<Acme & { state: WebhookState; lost: WebhookState }> {
    const started = await startCreated();
    const { emulator, state, args } = started;
    const moved = await startEndpoint(NEXT_KEY, "/moved");
    emulator.injectFault({ operation: "set-webhook", fault, times: 9 });
    emulator.injectFault(secondLookFails);
    const change = { webhookUrl: moved.url, webhookVerificationKey: NEXT_KEY };
    const timeouts = { requestSeconds: 1 };
    const error = await errorOf(update(state, { ...args, ...change, timeouts }));
    expect(error).toBeInstanceOf(UnfinishedError);
    expect(error.message).toContain("may have been made nevertheless");
    emulator.clearFaults();
    startRun();
    return { ...started, lost: expandState((error as UnfinishedError).properties) };
  }
  const NEXT_KEY = "the-next-key-0123456789";
  const LOST: Fault[] = ["html", { status: 503, afterChange: true }, { delayMs: 60_000, afterChange: true }];

  test.each(LOST)("(%j) is ours for delete", async (fault) => {
    const { acme, lost } = await startLost(fault);
    expect(acme.registration?.webhook_verification_key).toBe(NEXT_KEY);
    await ApiChatWebhook.delete(lost.botUrl, compactState(lost));
    expect(acme.registration).toBeUndefined();
  });

  test("is ours for update, with and without a refresh, where the program is taken back", async () => {
    for (const refreshes of [false, true]) {
      const { acme, args, state, lost } = await startLost("html");
      const seen = refreshes ? await refresh(lost) : lost;
      expect((await ApiChatWebhook.diff(seen.botUrl, compactState(seen), await checked(args))).changes).toBe(
        true,
      );
      expect(await update(seen, args)).toEqual(state);
      expect(acme.registration).toMatchObject({ webhook_url: args.webhookUrl, webhook_status: "verified" });
    }
  });

  test("is completed by the same program", async () => {
    const { acme, args, lost } = await startLost("html");
    const wanted = { webhookUrl: acme.registration?.webhook_url ?? "", webhookVerificationKey: NEXT_KEY };
    const after = await update(await refresh(lost), { ...args, ...wanted });
    expect(after).toMatchObject({ ...wanted, applied: { url: wanted.webhookUrl } });
    expect(after.applied.attempted).toBeUndefined();
  });

  test("and whose effect shows is done", async () => {
    const { state, args, emulator, actions } = await startCreated();
    const moved = await startEndpoint(VERIFICATION_KEY, "/moved");
    emulator.injectFault({ operation: "set-webhook", fault: "html" });
    expect(await update(state, { ...args, webhookUrl: moved.url })).toMatchObject({
      applied: { url: moved.url },
    });
    expect(actions()).toEqual([...SET, "get-webhook"]);
  });
});

test('onExisting "replace" that has replaced something may be removed, which is said once', async () => {
  const { state, args, acme } = await startCreated();
  acme.takeOver(FOREIGN);
  const replacing = { ...args, onExisting: "replace" } as const;
  const after = await update(state, replacing);
  startRun();
  await update(after, replacing);
  expect(lines).toEqual([expect.stringMatching(/^acme: replaced .*may be removed now$/)]);
});

/** Registered with the environment's key, which is then another one. */
async function startRotated(next: string): Promise<Acme & { state: WebhookState; inputs: WebhookInputs }> {
  const started = await startAcme();
  const { apiKey, ...args } = started.args;
  vi.stubEnv("APICHAT_API_KEY", apiKey);
  const { outs: state } = await create(args);
  vi.stubEnv("APICHAT_API_KEY", next);
  startRun();
  started.actions();
  return { ...started, state, inputs: await checked(args) };
}

describe("an API key of the environment that is not the last used", () => {
  const ROTATED = "ak-rotated-0123456789";

  test("is a change, tried and recorded with one get-webhook; after that a removed webhook is only gone", async () => {
    const { state, inputs, acme, actions } = await startRotated(ROTATED);
    acme.apiKey = ROTATED;
    expect(await ApiChatWebhook.diff(state.botUrl, compactState(state), inputs)).toMatchObject({
      changes: true,
    });
    const { outs } = await ApiChatWebhook.update(state.botUrl, compactState(state), inputs);
    expect(actions()).toEqual(GET);
    expect(await ApiChatWebhook.diff(state.botUrl, outs, inputs)).toMatchObject({ changes: false });
    acme.remove();
    startRun();
    expect(await ApiChatWebhook.read(state.botUrl, outs)).toEqual({});
    await ApiChatWebhook.delete(state.botUrl, outs);
  });

  test("and wrong fails in the same up", async () => {
    const { state, inputs } = await startRotated("ak-wrong-0123456789");
    expect(await ApiChatWebhook.diff(state.botUrl, compactState(state), inputs)).toMatchObject({
      changes: true,
    });
    const failed = ApiChatWebhook.update(state.botUrl, compactState(state), inputs);
    expect((await failureOf(failed)).code).toBe("unauthorized");
  });
});

test("no line that a run printed, and nothing but the keys' own inputs in the state, holds a key", async () => {
  const { state, args } = await startCreated();
  await update(state, args);
  const { webhookVerificationKey: _, apiKey: __, ...rest } = state;
  expect(findSecrets(JSON.stringify(rest) + lines.join(), [API_KEY, VERIFICATION_KEY])).toEqual([]);
});
