import { describe, expect, test, vi } from "vitest";
import { UNKNOWN } from "../../../provider/pulumi/unknown.js";
import { memoryLog } from "../../../provider/webhook/run-log.js";
import { API_KEY, VERIFICATION_KEY, isolateRuns, lifecycle, startRun } from "./harness.js";

const lines = isolateRuns();

const VALID = {
  name: "acme",
  baseUrl: "https://platform.example/acme/apichat",
  webhookUrl: "https://chat.example/webhooks/apichat",
  webhookVerificationKey: VERIFICATION_KEY,
  apiKey: API_KEY,
};
const { baseUrl: _baseUrl, apiKey: _apiKey, ...BARE } = VALID;
/** A failure names only these inputs as `property`: the engine prints their values, so none may be secret. */
const OPTIONAL = ["onExisting", "preflight", "timeouts"];

type Args = Record<string, unknown>;

const check = (args: Args) => lifecycle().check({}, { name: "acme", ...args });

const failuresOf = async (args: Args) => (await check({ ...VALID, ...args })).failures;

const unknown = (names: readonly string[]): Args => Object.fromEntries(names.map((name) => [name, UNKNOWN]));

const INPUTS = [...Object.keys(VALID).slice(1), ...OPTIONAL];

test.each<Args>([
  { onExisting: "replace", preflight: "warn", timeouts: { requestSeconds: 1, readySeconds: 0 } },
  { onExisting: "fail", preflight: "off", __provider: "source" },
  { timeouts: { requestSeconds: 3600, readySeconds: 0.5 } },
  { timeouts: { requestSeconds: undefined } },
  { webhookUrl: "http://localhost:3000/hook?a=b" },
  { webhookUrl: "HTTPS://CHAT.example" },
  { baseUrl: "https://platform.example/apichat?tenant=acme&actions=1" },
  { baseUrl: "http://[::1]:8080/", webhookUrl: "http://127.8.9.1/" },
  { webhookVerificationKey: "sixteen-chars-ok" },
  { webhookVerificationKey: "with spaces inside is fine" },
  ...INPUTS.map((name) => unknown([name])),
  { ...unknown(INPUTS), timeouts: unknown(["requestSeconds", "readySeconds"]) },
])("check accepts %j without a warning, and only adds the status verified", async (args) => {
  const inputs = { ...VALID, ...args, status: "verified" };
  expect(await check({ ...VALID, ...args })).toEqual({ inputs, failures: [] });
  expect(lines).toEqual([]);
});

const url = (webhookUrl: unknown): Args => ({ webhookUrl });
const key = (webhookVerificationKey: unknown): Args => ({ webhookVerificationKey });
const timeout = (name: string, value: unknown): Args => ({ timeouts: { [name]: value } });

test.each<[Args, RegExp]>([
  [url(undefined), /^webhookUrl: must be a string, got nothing; for example "https:/],
  [url(7), /^webhookUrl: must be a string, got a number; for example/],
  [url(""), /^webhookUrl: must be an absolute http or https URL, got ""; for example/],
  [url("ftp://chat.example/"), /an absolute http or https URL, got "ftp:\/\/chat\.example\/"/],
  [url("localhost:3000"), /an absolute http or https URL, got "localhost:3000"; for example/],
  [url("/webhooks"), /got text that is not shown, because it may be a key; for example/],
  [url("sk4.live.abcdefghijkl"), /is not shown/],
  [url("https://chat.example/a b"), /a URL without whitespace/],
  [url(" https://chat.example/"), /^webhookUrl: must be/],
  [url("https://chat.example/#part"), /a URL without fragment/],
  [url("https://user:pass-word@chat.example/"), /without user name and password, got "https:\/\/chat/],
  [{ baseUrl: "platform.example" }, /^baseUrl: must be an absolute .*; for example .*"https:\/\/platform/],
  [{ baseUrl: "https://a.example/?a=1&action=x" }, /^baseUrl: .*"action".*action=\*\*\*"; leave/],
  [key(undefined), /^webhookVerificationKey: must be a string, got nothing; make one/],
  [key(""), /^webhookVerificationKey: must be non-empty, got an empty string; make one/],
  [key(" padded-key-0123456 "), /without leading or trailing whitespace, got 20 characters, 18 after/],
  [key("with\u0007bell-0123456789"), /without control characters, got 20 characters/],
  [key("ab********yz"), /must be the key itself, got 12 characters that look like a mask/],
  [key("••••••••"), /look like a mask/],
  [{ apiKey: "" }, /^apiKey: must be non-empty/],
  [{ apiKey: "key-0123456789\n" }, /^apiKey: must be without .*whitespace, got 15 characters, 14 after/],
  [{ apiKey: { secret: 1 } }, /^apiKey: must be a string, got an object/],
  [{ onExisting: "adopt" }, /^onExisting: must be one of "fail", "replace", got "adopt"; the default is/],
  [
    { preflight: "REQUIRE" },
    /^preflight: must be one of "require", "warn", "off", got "REQUIRE"; the default is "require"$/,
  ],
  [{ timeouts: 30 }, /^timeouts: must be an object, got 30; write \{ requestSeconds: 30/],
  [{ timeouts: [1] }, /^timeouts: .*got a list/],
  [timeout("requestSeconds", 0), /^timeouts\.requestSeconds: .*from 1 to 3600, got 0; leave it out/],
  [timeout("requestSeconds", "30"), /^timeouts\.requestSeconds: .*got "30"/],
  [timeout("readySeconds", -1), /^timeouts\.readySeconds: .*from 0 to 3600, got -1/],
  [
    timeout("readySecond", 1),
    /^timeouts\.readySecond: is not a known timeout; use requestSeconds or readySeconds; in Python, request_seconds or/,
  ],
  [timeout("toString", 1), /^timeouts\.toString: .*is not a known/],
])("the error for %j shows the value, what is accepted and the fix, but no secret", async (args, reason) => {
  const failures = await failuresOf(args);
  const property = OPTIONAL.find((name) => failures[0]?.reason.startsWith(`${name}:`)) ?? "";
  expect(failures).toEqual([{ property, reason: expect.stringMatching(reason) as string }]);
  expect(failures[0]?.reason).not.toMatch(/0123456|pass-word|abcdef|ab\*+yz/);
});

test.each([
  "chat.example/hook?token=query-value",
  "localhost:3000?token=query-value",
  "https://chat.example/hook?token=query-value#part",
  "https://chat.example/hook?token=query-value x",
  "https://user:query-value@chat.example/hook",
  "ftp://user:query-value@chat.example/hook",
  "user:query-value@chat.example/hook",
  "//user:query-value@chat.example/",
  "https:user:query-value@chat.example",
  "?token=query-value",
  "#query-value",
])("an error shows no secrets if the URL is %s", async (wrong) => {
  const failures = await failuresOf({ webhookUrl: wrong, baseUrl: wrong });
  expect(failures).toHaveLength(2);
  expect(JSON.stringify(failures)).not.toContain("query-value");
});

describe("defaults", () => {
  test.each<[string, Record<string, string>]>([
    ["the configuration", { "apichat:apiKey": API_KEY, "apichat:baseUrl": VALID.baseUrl }],
    ["the environment", {}],
  ])("may come from %s, and then the inputs contain no API key", async (_name, config) => {
    const isConfigured = "apichat:baseUrl" in config;
    startRun(config);
    vi.stubEnv("APICHAT_API_KEY", isConfigured ? undefined : API_KEY);
    vi.stubEnv("APICHAT_BASE_URL", isConfigured ? "https://environment.example/" : VALID.baseUrl);
    for (const apiKey of [undefined, null]) {
      const { inputs, failures } = await check({ ...BARE, apiKey });
      expect(failures).toEqual([]);
      expect(inputs.baseUrl).toBe(VALID.baseUrl);
      expect(inputs).not.toHaveProperty("apiKey", expect.anything());
    }
    const { inputs } = await check({ ...VALID, baseUrl: "https://argument.example/" });
    expect(inputs.baseUrl).toBe("https://argument.example/");
  });

  test("are ignored if empty, and otherwise checked like arguments", async () => {
    startRun({ "apichat:apiKey": "", "apichat:baseUrl": "" });
    vi.stubEnv("APICHAT_API_KEY", "").stubEnv("APICHAT_BASE_URL", "");
    const missing = (await check(BARE)).failures;
    vi.stubEnv("APICHAT_API_KEY", `${API_KEY}\n`).stubEnv("APICHAT_BASE_URL", "platform.example");
    const wrong = (await check(BARE)).failures;
    expect([...missing, ...wrong].map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^baseUrl: is missing.* apichat:baseUrl, .* APICHAT_BASE_URL$/),
      expect.stringMatching(/^apiKey: is missing.* apichat:apiKey, .* APICHAT_API_KEY$/),
      expect.stringMatching(/^baseUrl: must be an absolute/),
      expect.stringMatching(/^apiKey: must be without .*whitespace/),
    ]);
  });
});

test("two resources for one workspace cause one failure with both names, wherever the key comes from", async () => {
  vi.stubEnv("APICHAT_API_KEY", API_KEY);
  expect(await failuresOf({})).toEqual([]);
  expect(await failuresOf({})).toEqual([]);
  const baseUrl = "HTTPS://platform.example:443/acme/apichat/";
  const reason = expect.stringContaining('"acme" and "again" declare the same workspace') as string;
  expect(await failuresOf({ name: "again", baseUrl })).toEqual([{ property: "", reason }]);
  expect(await failuresOf({ name: "again", apiKey: undefined })).toEqual([{ property: "", reason }]);
});

test.each<Args>([
  { apiKey: "another-key-0123456789" },
  { baseUrl: "https://platform.example/other/apichat" },
  { baseUrl: UNKNOWN },
  { apiKey: UNKNOWN },
])("accepts a second resource with %j, because its workspace may be a different one", async (args) => {
  await check(VALID);
  expect(await failuresOf({ name: "again", ...args })).toEqual([]);
});

test.each<[Args, RegExp]>([
  [key("fifteen-chars-x"), /^acme: warning: webhookVerificationKey has fewer than 16/],
  [
    { baseUrl: "http://platform.example/" },
    /^acme: warning: baseUrl uses http, so keys are sent unencrypted; use/,
  ],
  [url("http://chat.example/"), /^acme: warning: webhookUrl uses http/],
])("%j causes a warning that starts with the resource's name", async (args, line) => {
  expect(await failuresOf(args)).toEqual([]);
  expect(lines).toEqual([expect.stringMatching(line)]);
});

test("warns once if the provider processes of a run cannot share their facts", async () => {
  startRun({}, memoryLog("/state is open to other users"));
  await check(VALID);
  await check({ ...VALID, name: "again", baseUrl: "https://platform.example/again/apichat" });
  expect(lines).toEqual([
    expect.stringMatching(/^acme: warning: providers of the same run .*\/state is open to other users/),
  ]);
});
