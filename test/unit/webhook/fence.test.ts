import { runtime } from "@pulumi/pulumi";
import { describe, expect, test } from "vitest";
import { isPublicAddress } from "../../../provider/diagnosis/diagnose.js";
import { diffWebhook } from "../../../provider/webhook/lifecycle.js";
import { botCodeOf, canonicalUrl, isSameBot, isSameUrl } from "../../../provider/lib/url.js";
import {
  INPUT_NAMES,
  inputsOf,
  type WebhookInputs,
  type WebhookState,
} from "../../../provider/webhook/contract.js";
import { declare } from "../../../provider/webhook/run.js";
import {
  DRIFTED_KEY,
  compactState,
  expandState,
  expectedUrl,
  isLastApiKey,
  isOurs,
  rememberApplied,
  showsOurKey,
} from "../../../provider/webhook/state.js";
import { UNKNOWN } from "../../../provider/lib/checks.js";
import { providerSource } from "../../../provider/resource/program.js";
import { API_KEY, VERIFICATION_KEY, isolateRuns } from "./harness.js";

const lines = isolateRuns();

const SEEN = {
  webhookUrl: "https://chat.example/hook",
  webhookVerificationKey: VERIFICATION_KEY,
  status: "verified",
  botUrl: "https://bots.example/api/apichat/f1",
};

const INPUTS: WebhookInputs = {
  name: "acme",
  baseUrl: "https://platform.example/",
  webhookUrl: SEEN.webhookUrl,
  webhookVerificationKey: VERIFICATION_KEY,
  status: "verified",
  __provider: "source",
};

const remember = (seen = SEEN, wanted: Partial<WebhookInputs> = {}): WebhookState["applied"] =>
  rememberApplied(seen, { ...INPUTS, ...wanted, apiKey: API_KEY, claimId: "c1" });

const stateAfter = (seen = SEEN, wanted: Partial<WebhookInputs> = {}): WebhookState => ({
  ...INPUTS,
  ...wanted,
  botUrl: seen.botUrl,
  stateVersion: 1,
  applied: remember(seen, wanted),
});

describe("two URLs are the same", () => {
  test.each([
    ["HTTPS://Chat.Example/hook", "https://chat.example/hook"],
    ["https://chat.example:443/hook", "https://chat.example/hook"],
    ["http://chat.example:80", "http://chat.example/"],
    ["https://chat.example/hook/", "https://chat.example/hook"],
    ["https://chat.example/hook//", "https://chat.example/hook"],
    ["https://chat.example/%7Eacme/%61", "https://chat.example/~acme/a"],
    ["https://chat.example/a%2fb", "https://chat.example/a%2Fb"],
    ["https://chat.example/x/../hook", "https://chat.example/hook"],
    ["https://chat.example/?t=%41", "https://chat.example?t=A"],
    ["https://bücher.example/", "https://xn--bcher-kva.example"],
  ])("%s and %s", (a, b) => {
    expect(isSameUrl(a, b)).toBe(true);
    expect(canonicalUrl(canonicalUrl(a))).toBe(canonicalUrl(a));
  });

  test.each([
    ["https://chat.example/hook", "http://chat.example/hook"],
    ["https://chat.example/hook", "https://chat.example/Hook"],
    ["https://chat.example/hook", "https://chat.example:8443/hook"],
    ["https://chat.example/a%2Fb", "https://chat.example/a/b"],
    ["https://chat.example/hook?t=1", "https://chat.example/hook?t=2"],
    ["https://chat.example/hook?t=1", "https://chat.example/hook"],
    ["https://chat.example/hook?a=1&b=2", "https://chat.example/hook?b=2&a=1"],
    ["not a url", "another"],
    ["", "https://chat.example/"],
  ])("but not %s and %s", (a, b) => expect(isSameUrl(a, b)).toBe(false));
});

describe("the bot code", () => {
  test.each([
    ["https://bots.example/api/apichat/f1", "f1"],
    ["https://bots.example/api/apichat/f1/", "f1"],
    ["https://bots.example/api/apichat/f1?x=/y", "f1"],
    ["/api/apichat/f1", "f1"],
    ["f1", "f1"],
    ["", ""],
  ])("of %s is %s", (url, code) => expect(botCodeOf(url)).toBe(code));

  test("is what makes two bot URLs the same, on whichever host", () => {
    expect(isSameBot("https://a.example/api/apichat/f1", "http://b.example:8080/v2/f1/")).toBe(true);
    expect(isSameBot("https://a.example/api/apichat/f1", "https://a.example/api/apichat/F1")).toBe(false);
  });
});

describe("what is remembered of a registration", () => {
  test("is its URL and bot, and of the API key a digest", () => {
    expect(remember()).toEqual({
      url: SEEN.webhookUrl,
      botUrl: SEEN.botUrl,
      apiKey: expect.stringMatching(/^[\w-]{12}$/) as string,
      claimId: "c1",
    });
    expect(JSON.stringify(remember())).not.toContain("0123456789");
  });

  test("holds the echo of a service that writes URLs in its own way and masks keys", () => {
    const echo = { ...SEEN, webhookUrl: "https://chat.example/Hook", webhookVerificationKey: "vk***89" };
    const state = stateAfter(echo);
    expect(state.applied).toMatchObject({ url: SEEN.webhookUrl, echoUrl: echo.webhookUrl });
    expect(state.applied.echoKey).toMatch(/^[\w-]{12}$/);
    expect(expectedUrl(state.applied)).toBe(echo.webhookUrl);
    expect([isOurs(echo, state.applied), showsOurKey(echo, state)]).toEqual([true, true]);
    expect(showsOurKey({ ...echo, webhookVerificationKey: "vk***88" }, state)).toBe(false);
    expect(showsOurKey(SEEN, state)).toBe(false);
  });

  test("tells ours from another's", () => {
    const applied = remember();
    expect(isOurs(SEEN, applied)).toBe(true);
    expect(isOurs({ ...SEEN, webhookUrl: `${SEEN.webhookUrl}/` }, applied)).toBe(true);
    expect(isOurs({ ...SEEN, webhookUrl: "https://other.example/" }, applied)).toBe(false);
    expect(isOurs({ ...SEEN, botUrl: "https://bots.example/api/apichat/f2" }, applied)).toBe(false);
    expect(isOurs({ ...SEEN, webhookVerificationKey: "another" }, applied)).toBe(true);
  });

  test("tells the last API key from another", () => {
    expect(isLastApiKey(API_KEY, stateAfter())).toBe(true);
    expect(isLastApiKey("another", stateAfter())).toBe(false);
  });
});

describe("diff", () => {
  test("finds nothing to do where nothing changed", () => {
    expect(diffWebhook(stateAfter(), { ...INPUTS })).toMatchObject({ changes: false, replaces: [] });
    expect(lines).toEqual([]);
  });

  test.each<Partial<WebhookInputs>>([
    { name: "renamed-with-an-alias" },
    { baseUrl: "https://moved.example/" },
    { webhookUrl: "https://moved.example/" },
    { webhookVerificationKey: "another-key-0123456" },
    { apiKey: API_KEY },
    { onExisting: "replace" },
    { preflight: "off" },
    { timeouts: { readySeconds: 1 } },
    { webhookUrl: UNKNOWN },
    { webhookVerificationKey: UNKNOWN },
  ])("takes a change to %j for an update, and never for a replacement", (change) => {
    const found = diffWebhook(stateAfter(), { ...INPUTS, ...change });
    expect(found).toMatchObject({ changes: true, replaces: [] });
  });

  test.each<Partial<WebhookInputs>>([{ __provider: "of another version" }])("ignores %j", (change) =>
    expect(diffWebhook(stateAfter(), { ...INPUTS, ...change }).changes).toBe(false),
  );

  test("compares timeouts by value", () => {
    const timeouts = { requestSeconds: 3 };
    const state = stateAfter(SEEN, { timeouts });
    expect(diffWebhook(state, { ...INPUTS, timeouts: { ...timeouts } }).changes).toBe(false);
    expect(diffWebhook(state, INPUTS).changes).toBe(true);
  });

  test.each<[string, Partial<WebhookState>]>([
    ["a status that is not verified", { status: "failed" }],
    ["a key that drifted", { drift: [DRIFTED_KEY] }],
    ["a bot URL that moved", { botUrl: "https://new-bots.example/api/apichat/f1" }],
    ["a URL that drifted", { webhookUrl: "https://drifted.example/" }],
  ])("sees %s", (_, drift) => {
    expect(diffWebhook({ ...stateAfter(), ...drift }, INPUTS).changes).toBe(true);
  });

  test("names a key that changes or drifted in a line of its own, without the key", () => {
    diffWebhook(stateAfter(), { ...INPUTS, webhookVerificationKey: "another-key-0123456" });
    diffWebhook({ ...stateAfter(), drift: [DRIFTED_KEY] }, INPUTS);
    diffWebhook(stateAfter(), { ...INPUTS, apiKey: API_KEY });
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line).toMatch(/^acme: (webhookVerificationKey|apiKey)/);
    expect(lines.join()).not.toContain("0123456");
  });

  test("shows how a URL with a query changes, without the query's values: the preview hides it whole", () => {
    const to = { webhookUrl: "https://chat.example/hook?token=query-value" };
    diffWebhook(stateAfter(), { ...INPUTS, ...to });
    expect(lines).toEqual([
      "acme: webhookUrl changes: https://chat.example/hook => https://chat.example/hook?token=***",
    ]);
  });

  test("fails if another resource that the program declares holds the same bot", () => {
    declare(INPUTS, "one");
    declare({ ...INPUTS, name: "again" }, "two");
    diffWebhook(stateAfter(), INPUTS);
    expect(() => diffWebhook(stateAfter(), { ...INPUTS, name: "again" })).toThrow(/"acme" and "again"/);
  });

  test("does not fail if the other one is only an old name", () => {
    diffWebhook(stateAfter(), { ...INPUTS, name: "old-name" });
    expect(() => diffWebhook(stateAfter(), INPUTS)).not.toThrow();
  });
});

test("the inputs of a state are the documented ones, and what is undefined is left out", () => {
  const state = stateAfter(SEEN, { onExisting: "replace" });
  expect(inputsOf(state)).toEqual({ ...INPUTS, onExisting: "replace" });
  const all = Object.fromEntries(INPUT_NAMES.map((name) => [name, name])) as unknown as WebhookInputs;
  expect(Object.keys(inputsOf({ ...all, extra: 1 } as WebhookInputs))).toEqual([...INPUT_NAMES]);
});

test("UNKNOWN is the SDK's own value", () => {
  expect(UNKNOWN).toBe(runtime.unknownValue);
});

test("the source of the provider stands in the states of every release: it is short and never changes", () => {
  expect(Buffer.byteLength(providerSource("ApiChatWebhook"))).toBeLessThanOrEqual(200);
  expect(providerSource("ApiChatWebhook")).toBe(
    'exports.handler=()=>{try{return require("pulumi-apichat/dynamic").ApiChatWebhook}catch(e){throw Object.assign(Error("npm install pulumi-apichat, on Node 22.19+: "+e),{stack:""})}}',
  );
});

describe("an address is public", () => {
  test.each([
    "93.184.216.34",
    "8.8.8.8",
    "172.15.0.1",
    "172.32.0.1",
    "192.169.0.1",
    "100.63.0.1",
    "2001:4860::8888",
  ])("as %s", (address) => expect(isPublicAddress(address)).toBe(true));

  test.each([
    "127.0.0.1",
    "127.255.0.1",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "::1",
    "::",
    "fd00::1",
    "fc00::1",
    "fe80::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
  ])("but not as %s", (address) => expect(isPublicAddress(address)).toBe(false));
});

describe("a stored state", () => {
  test("does not repeat what applied shares with the outputs, and gives it back", () => {
    const state = stateAfter();
    const stored = compactState(state);
    expect(stored.applied).not.toHaveProperty("url");
    expect(stored.applied).not.toHaveProperty("botUrl");
    expect(expandState(stored)).toEqual(state);
  });

  test("keeps what was applied when a refresh saw something else", () => {
    const drifted = {
      ...stateAfter(),
      webhookUrl: "https://other.example/hook",
      botUrl: "https://moved.example/api/apichat/1",
    };
    expect(expandState(compactState(drifted))).toEqual(drifted);
  });
});
