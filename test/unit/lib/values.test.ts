import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { describe, expect, test } from "vitest";
import { backOffMs, MAX_RETRY_AFTER_MS, parseRetryAfter } from "../../../provider/lib/retry.js";
import {
  botCodeOf,
  canonicalUrl,
  hideQuery,
  isSameBot,
  isSameUrl,
  formatUrl,
} from "../../../provider/lib/url.js";
import { parseUrn } from "../../../provider/lib/urn.js";
import { isOlder, MIN_NODE, MIN_PULUMI, VERSION } from "../../../provider/lib/version.js";

describe("printing a URL", () => {
  test.each([
    ["https://chat.example/hook", "https://chat.example/hook"],
    ["https://user:pass@chat.example:8443/hook#part", "https://chat.example:8443/hook"],
    ["https://chat.example/?a=1&b=2&a=3", "https://chat.example/?a=***&b=***"],
    ["https://chat.example/?", "https://chat.example/"],
    ["ftp://user:pass@chat.example/x?a=1", "ftp://chat.example/x?a=***"],
    ["chat.example?token=1", "(not a URL)"],
    ["", "(not a URL)"],
  ])("prints %s as %s", (url, printed) => expect(formatUrl(url)).toBe(printed));

  test("for a state, leaves a URL without a query unchanged, and hides a query's values", () => {
    expect(hideQuery("https://chat.example/hook/")).toBe("https://chat.example/hook/");
    expect(hideQuery("HTTPS://chat.example/hook?a=1")).toBe("https://chat.example/hook?a=***");
  });
});

test.each([
  ["HTTPS://Chat.Example/hook", "https://chat.example/hook"],
  ["http://chat.example:80", "http://chat.example/"],
  ["https://chat.example/hook/", "https://chat.example/hook"],
  ["https://chat.example/%7Eacme/%61", "https://chat.example/~acme/a"],
  ["https://chat.example/a%2fb", "https://chat.example/a%2Fb"],
  ["https://chat.example/?t=%41", "https://chat.example?t=A"],
  ["https://bücher.example/", "https://xn--bcher-kva.example"],
])("%s is the same URL as %s", (a, b) => {
  expect(isSameUrl(a, b)).toBe(true);
  expect(canonicalUrl(canonicalUrl(a))).toBe(canonicalUrl(a));
});

test.each([
  ["https://chat.example/hook", "http://chat.example/hook"],
  ["https://chat.example/hook", "https://chat.example/Hook"],
  ["https://chat.example/hook", "https://chat.example:8443/hook"],
  ["https://chat.example/a%2Fb", "https://chat.example/a/b"],
  ["https://chat.example/hook?t=1", "https://chat.example/hook?t=2"],
  ["https://chat.example/hook?a=1&b=2", "https://chat.example/hook?b=2&a=1"],
  ["not a url", "another"],
])("%s is a different URL from %s", (a, b) => expect(isSameUrl(a, b)).toBe(false));

test.each([
  ["https://bots.example/api/apichat/f1", "f1"],
  ["https://bots.example/api/apichat/f1?x=/y", "f1"],
  ["/api/apichat/f1", "f1"],
  ["", ""],
])("the bot code of %s is %s; unless empty, it identifies the bot on any host", (url, code) => {
  expect(botCodeOf(url)).toBe(code);
  expect(isSameBot(url, `http://b.example:8080/v2/${code}/`)).toBe(code !== "");
});

test("VERSION, MIN_NODE and MIN_PULUMI match package.json", () => {
  const { version, engines, peerDependencies } = packageJson;
  expect(version).toBe(VERSION);
  expect(engines.node).toBe(`>=${MIN_NODE}`);
  expect(peerDependencies["@pulumi/pulumi"]).toBe(`>=${MIN_PULUMI} <4`);
});

test.each([
  ["22.18.9", true],
  ["22.9.0", true],
  ["22.19.0", false],
  ["22.19.0-nightly1", false],
])("%s is older than 22.19: %s", (version, expected) => {
  expect(isOlder(version, "22.19")).toBe(expected);
});

test.each([
  ["7", 7000],
  [" 7 ", 7000],
  ["Thu, 01 Jan 2026 00:00:09 GMT", 9000],
  ["Wed, 31 Dec 2025 00:00:00 GMT", 0],
  ["9".repeat(400), MAX_RETRY_AFTER_MS],
  ["Fri, 01 Jan 2100 00:00:00 GMT", MAX_RETRY_AFTER_MS],
  ["soon", undefined],
  ["", undefined],
  [undefined, undefined],
])("Retry-After: %.40s is read as %s ms", (value, ms) => {
  expect(parseRetryAfter(value, Date.parse("2026-01-01T00:00:00Z"))).toBe(ms);
});

test.each([
  [1, [250, 500, 1000, 2000, 4000, 8000, 8000]],
  [0, [125, 250, 500, 1000, 2000, 4000, 4000]],
])("the back-off doubles up to eight seconds, minus up to 50% at random: %i", (random, pauses) => {
  expect([1, 2, 3, 4, 5, 6, 100].map((attempt) => backOffMs(attempt, undefined, () => random))).toEqual(
    pauses,
  );
});

test.each([
  ["apichat:index:ApiChatWebhook::acme", "apichat:index:ApiChatWebhook", "acme"],
  ["shop:index:Customer$apichat:index:ApiChatWebhook::acme::eu", "apichat:index:ApiChatWebhook", "acme::eu"],
  ["pulumi:providers:apichat::default_0_1_0", "pulumi:providers:apichat", "default_0_1_0"],
])("a URN that ends in %s is split into type and name", (end, type, name) => {
  expect(parseUrn(`urn:pulumi:dev::shop::${end}`)).toEqual({ stack: "dev", project: "shop", type, name });
});
