import { describe, expect, test, vi } from "vitest";
import { ApiChatWebhook } from "../../../provider/dynamic.js";
import type { CheckResult } from "../../../provider/lib/checks.js";
import { UNKNOWN } from "../../../provider/lib/checks.js";
import type { WebhookInputs } from "../../../provider/webhook/contract.js";
import { API_KEY, VERIFICATION_KEY, isolateRuns, startRun } from "./harness.js";

const lines = isolateRuns();

const VALID = {
  name: "acme",
  baseUrl: "https://platform.example/acme/apichat",
  webhookUrl: "https://chat.example/webhooks/apichat",
  webhookVerificationKey: VERIFICATION_KEY,
  apiKey: API_KEY,
};

type Args = Record<string, unknown>;

const check = (args: Args): Promise<CheckResult<WebhookInputs>> =>
  ApiChatWebhook.check({}, args as Parameters<typeof ApiChatWebhook.check>[1]);

/** The one failure of otherwise valid inputs. */
async function failureWith(args: Args): Promise<{ property: string; reason: string }> {
  const { failures } = await check({ ...VALID, ...args });
  expect(failures).toHaveLength(1);
  return failures[0] ?? { property: "", reason: "" };
}

describe("valid inputs", () => {
  test("pass as they are, with the status to reach", async () => {
    const more = {
      onExisting: "replace",
      preflight: "warn",
      timeouts: { requestSeconds: 1, readySeconds: 0 },
    };
    const result = await check({ ...VALID, ...more, __provider: "source" });
    expect(result).toEqual({
      inputs: { ...VALID, ...more, __provider: "source", status: "verified" },
      failures: [],
    });
    expect(lines).toEqual([]);
  });

  test.each<Args>([
    { webhookUrl: "http://localhost:3000/hook?a=b" },
    { webhookUrl: "HTTPS://CHAT.example" },
    { baseUrl: "https://platform.example/apichat?tenant=acme&actions=1" },
    { baseUrl: "http://[::1]:8080/" },
    { webhookVerificationKey: "sixteen-chars-ok" },
    { webhookVerificationKey: "with spaces inside is fine" },
    { onExisting: "fail", preflight: "off" },
    { timeouts: {} },
    { timeouts: { requestSeconds: 3600 } },
    { timeouts: { readySeconds: 0.5 } },
    { timeouts: { requestSeconds: undefined } },
  ])("%j pass, without a word", async (args) => {
    expect((await check({ ...VALID, ...args })).failures).toEqual([]);
    expect(lines).toEqual([]);
  });

  test.each([
    "baseUrl",
    "webhookUrl",
    "webhookVerificationKey",
    "apiKey",
    "onExisting",
    "preflight",
    "timeouts",
  ])("may hold a %s that a preview does not know yet", async (name) => {
    const result = await check({ ...VALID, [name]: UNKNOWN });
    expect(result.failures).toEqual([]);
    expect(result.inputs).toMatchObject({ [name]: UNKNOWN });
  });

  test("may hold nothing known but the name", async () => {
    const names = ["baseUrl", "webhookUrl", "webhookVerificationKey", "apiKey", "onExisting", "preflight"];
    const unknown = Object.fromEntries(names.map((name) => [name, UNKNOWN]));
    const timeouts = { requestSeconds: UNKNOWN, readySeconds: UNKNOWN };
    expect((await check({ name: "acme", ...unknown, timeouts })).failures).toEqual([]);
    expect(lines).toEqual([]);
  });
});

describe("a wrong input is named, with what was given, what is accepted and how to fix it:", () => {
  test.each<[Args, RegExp]>([
    [{ webhookUrl: undefined }, /^webhookUrl: must be a string, got nothing; write for example "https:/],
    [{ webhookUrl: 7 }, /^webhookUrl: must be a string, got a number; write/],
    [{ webhookUrl: null }, /^webhookUrl: must be a string, got null; write/],
    [{ webhookUrl: ["a"] }, /^webhookUrl: must be a string, got a list; write/],
    [{ webhookUrl: "" }, /^webhookUrl: must be an absolute http or https URL, got ""; write/],
    [
      { webhookUrl: "localhost:3000" },
      /^webhookUrl: .* absolute http or https URL, got "localhost:3000"; write/,
    ],
    [{ webhookUrl: "/webhooks" }, /got "\/webhooks"; write for example/],
    [{ webhookUrl: "ftp://chat.example/" }, /absolute http or https URL, got "ftp:\/\/chat\.example\/"/],
    [{ webhookUrl: "https://" }, /absolute http or https URL/],
    [{ webhookUrl: "https://chat.example/a b" }, /^webhookUrl: must be a URL without white space/],
    [{ webhookUrl: " https://chat.example/" }, /^webhookUrl: must be/],
    [{ webhookUrl: "https://chat.example/#part" }, /^webhookUrl: must be a URL without fragment/],
    [
      { webhookUrl: "https://user:pass-word@chat.example/" },
      /without user name and password, got "https:\/\/chat/,
    ],
    [
      { baseUrl: "platform.example" },
      /^baseUrl: must be an absolute .*; write for example "https:\/\/platform/,
    ],
    [{ baseUrl: 1 }, /^baseUrl: must be a string, got a number/],
    [
      { baseUrl: "https://platform.example/?a=1&action=x" },
      /^baseUrl: .*"action".*got "https.*action=\*\*\*"; leave/,
    ],
    [
      { webhookVerificationKey: undefined },
      /^webhookVerificationKey: must be a string, got nothing; make one/,
    ],
    [
      { webhookVerificationKey: "" },
      /^webhookVerificationKey: must be non-empty, got an empty string; make one/,
    ],
    [
      { webhookVerificationKey: " padded-key-0123456 " },
      /without white space around it, got 20 characters, 18 after/,
    ],
    [
      { webhookVerificationKey: "with\u0007bell-0123456789" },
      /without control characters, got 20 characters/,
    ],
    [
      { webhookVerificationKey: "ab********yz" },
      /must be the key itself, got 12 characters that look like a mask/,
    ],
    [{ webhookVerificationKey: "[redacted]" }, /look like a mask/],
    [{ webhookVerificationKey: "••••••••" }, /look like a mask/],
    [{ apiKey: "" }, /^apiKey: must be non-empty/],
    [{ apiKey: "key-0123456789\n" }, /^apiKey: must be without white space .*got 15 characters, 14 after/],
    [{ apiKey: { secret: 1 } }, /^apiKey: must be a string, got an object/],
  ])("%j, without naming the property to the engine", async (args, expected) => {
    const { property, reason } = await failureWith(args);
    expect(reason).toMatch(expected);
    expect(property).toBe("");
  });

  test.each<[Args, string, RegExp]>([
    [
      { onExisting: "adopt" },
      "onExisting",
      /must be one of "fail", "replace", got "adopt"; leave it out for "fail"/,
    ],
    [{ onExisting: true }, "onExisting", /got a boolean/],
    [{ preflight: "REQUIRE" }, "preflight", /one of "require", "warn", "off", got "REQUIRE"; leave it out/],
    [{ timeouts: 30 }, "timeouts", /must be an object, got 30; write \{ requestSeconds: 30/],
    [{ timeouts: null }, "timeouts", /got null/],
    [{ timeouts: [1] }, "timeouts", /got a list/],
    [{ timeouts: { requestSeconds: 0 } }, "timeouts.requestSeconds", /from 1 to 3600, got 0; leave it out/],
    [{ timeouts: { requestSeconds: 3601 } }, "timeouts.requestSeconds", /from 1 to 3600, got 3601/],
    [{ timeouts: { requestSeconds: "30" } }, "timeouts.requestSeconds", /got "30"/],
    [{ timeouts: { requestSeconds: Number.NaN } }, "timeouts.requestSeconds", /got NaN/],
    [{ timeouts: { readySeconds: -1 } }, "timeouts.readySeconds", /from 0 to 3600, got -1/],
    [{ timeouts: { readyMs: 1 } }, "timeouts.readyMs", /is not known; write requestSeconds or readySeconds/],
    [
      { timeouts: { readySecond: 1 } },
      "timeouts.readySecond",
      /is not known; write requestSeconds or readySeconds/,
    ],
    [
      { timeouts: { toString: 1 } },
      "timeouts.toString",
      /is not known; write requestSeconds or readySeconds/,
    ],
  ])("%j, and the engine gets the property", async (args, property, expected) => {
    const failure = await failureWith(args);
    expect(failure.property).toBe(property);
    expect(failure.reason).toMatch(expected);
    expect(failure.reason.startsWith(`${property}: `)).toBe(true);
  });

  test("all at once", async () => {
    const { failures } = await check({
      name: "acme",
      baseUrl: "platform",
      webhookUrl: "chat",
      webhookVerificationKey: " ***** ",
      apiKey: " ",
      onExisting: "x",
      preflight: "y",
      timeouts: { requestSeconds: 0, readySeconds: -1, more: 1 },
    });
    expect(failures.map(({ reason }) => reason.split(":")[0])).toEqual([
      "baseUrl",
      "webhookUrl",
      "webhookVerificationKey",
      "webhookVerificationKey",
      "apiKey",
      "onExisting",
      "preflight",
      "timeouts.requestSeconds",
      "timeouts.readySeconds",
      "timeouts.more",
    ]);
  });

  test("missing altogether", async () => {
    const { failures } = await check({ name: "acme" });
    expect(failures.map(({ reason }) => reason.split(":")[0])).toEqual([
      "baseUrl",
      "webhookUrl",
      "webhookVerificationKey",
      "apiKey",
    ]);
    expect(failures[0]?.reason).toContain("APICHAT_BASE_URL");
    expect(failures[3]?.reason).toContain("APICHAT_API_KEY");
  });
});

describe("no secret and no query value is shown", () => {
  test.each([
    "chat.example/hook?token=query-value",
    "localhost:3000?token=query-value",
    "ftp://chat.example/hook?token=query-value",
    "https://chat.example/hook?token=query-value#part",
    "https://chat.example/hook?token=query value",
    "https://user:query-value@chat.example/hook",
    "ftp://user:query-value@chat.example/hook",
    "user:query-value@chat.example/hook",
    "user:query-value/with/slashes@chat.example/hook",
    "//user:query-value@chat.example/",
    "https:user:query-value@chat.example",
    "?token=query-value",
    "#query-value",
  ])("of the wrong URL %s", async (url) => {
    for (const args of [{ webhookUrl: url }, { baseUrl: url }]) {
      const { failures } = await check({ ...VALID, ...args });
      expect(failures).not.toEqual([]);
      expect(JSON.stringify(failures)).not.toContain("query-value");
      expect(JSON.stringify(failures)).not.toContain("query value");
    }
  });

  test("of wrong keys", async () => {
    const args = { webhookVerificationKey: ` ${VERIFICATION_KEY}`, apiKey: `${API_KEY}\t` };
    const { failures } = await check({ ...VALID, ...args });
    expect(failures).toHaveLength(2);
    expect(JSON.stringify(failures)).not.toContain("0123456789");
  });
});

const baseUrlOf = async (args: Args): Promise<string> => (await check({ ...VALID, ...args })).inputs.baseUrl;

describe("defaults", () => {
  const { baseUrl: _, apiKey: __, ...bare } = VALID;

  test("of baseUrl: the argument, then the configuration, then the environment", async () => {
    vi.stubEnv("APICHAT_BASE_URL", "https://environment.example/");
    expect(await baseUrlOf({ baseUrl: undefined })).toBe("https://environment.example/");
    startRun({ "apichat:baseUrl": "https://config.example/" });
    expect(await baseUrlOf({ baseUrl: undefined })).toBe("https://config.example/");
    expect(await baseUrlOf({ baseUrl: "https://argument.example/" })).toBe("https://argument.example/");
  });

  test("of baseUrl are checked like an argument", async () => {
    vi.stubEnv("APICHAT_BASE_URL", "platform.example");
    expect((await failureWith({ baseUrl: undefined })).reason).toMatch(/^baseUrl: must be an absolute/);
  });

  test.each<[string, Record<string, string>, string | undefined]>([
    ["the configuration", { "apichat:apiKey": API_KEY }, undefined],
    ["the environment", {}, API_KEY],
  ])("of apiKey: %s is enough, and it does not enter the inputs", async (_name, config, environment) => {
    startRun(config);
    vi.stubEnv("APICHAT_API_KEY", environment);
    const { inputs, failures } = await check({ ...bare, baseUrl: VALID.baseUrl });
    expect(failures).toEqual([]);
    expect(inputs).not.toHaveProperty("apiKey");
  });

  test("that are empty do not count", async () => {
    startRun({ "apichat:apiKey": "", "apichat:baseUrl": "" });
    vi.stubEnv("APICHAT_API_KEY", "");
    vi.stubEnv("APICHAT_BASE_URL", "");
    expect((await check(bare)).failures.map(({ reason }) => reason.split(":")[0])).toEqual([
      "baseUrl",
      "apiKey",
    ]);
  });

  test("of apiKey are checked like an argument", async () => {
    vi.stubEnv("APICHAT_API_KEY", `${API_KEY}\n`);
    expect((await failureWith({ apiKey: undefined })).reason).toMatch(/^apiKey: must be without white space/);
  });
});

describe("two resources for one workspace", () => {
  test("are one failure that names both", async () => {
    expect((await check(VALID)).failures).toEqual([]);
    const { failures } = await check({
      ...VALID,
      name: "again",
      baseUrl: "HTTPS://platform.example:443/acme/apichat/",
    });
    expect(failures).toHaveLength(1);
    expect(failures[0]?.reason).toMatch(/"acme" and "again" declare the same workspace/);
    expect(failures[0]?.property).toBe("");
  });

  test("are seen too if one takes the API key from the environment", async () => {
    vi.stubEnv("APICHAT_API_KEY", API_KEY);
    await check(VALID);
    expect((await check({ ...VALID, name: "again", apiKey: undefined })).failures).toHaveLength(1);
  });

  test.each<Args>([
    { apiKey: "another-key-0123456789" },
    { baseUrl: "https://platform.example/other/apichat" },
    { baseUrl: "https://platform.example/acme/apichat?tenant=2" },
    { baseUrl: UNKNOWN },
    { apiKey: UNKNOWN },
  ])("are not declared by %j", async (args) => {
    await check(VALID);
    expect((await check({ ...VALID, name: "again", ...args })).failures).toEqual([]);
  });

  test("are not declared by one that is checked twice", async () => {
    await check(VALID);
    expect((await check(VALID)).failures).toEqual([]);
  });
});

describe("warnings, which start with the resource's name", () => {
  test.each<[Args, RegExp]>([
    [
      { webhookVerificationKey: "fifteen-chars-x" },
      /^acme: warning: webhookVerificationKey has fewer than 16/,
    ],
    [
      { baseUrl: "http://platform.example/" },
      /^acme: warning: baseUrl is http, so keys travel in clear; use https/,
    ],
    [{ webhookUrl: "http://chat.example/" }, /^acme: warning: webhookUrl is http/],
  ])("%j", async (args, expected) => {
    expect((await check({ ...VALID, ...args })).failures).toEqual([]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(expected);
  });

  test.each(["http://localhost:1/", "http://127.0.0.1:1/", "http://127.8.9.1/", "http://[::1]:1/"])(
    "none for %s, which does not leave this machine",
    async (url) => {
      await check({ ...VALID, baseUrl: url, webhookUrl: url });
      expect(lines).toEqual([]);
    },
  );
});
