import { execFileSync } from "node:child_process";
import { parseEnv } from "node:util";
import { expect, test } from "vitest";
import { formatEnvironmentLines } from "../../../provider/cli/fleet/bot-url-lines.js";
import { failureOf } from "../client/harness.js";

const BASE = "https://bots.example/api/apichat";

test("the environment lines of bot URLs are sorted by name, and unquoted if possible", () => {
  const urls = { globex: `${BASE}/f2`, "acme-north.1": `${BASE}/f1`, Hooli_3: `${BASE}/f3` };
  expect(formatEnvironmentLines(urls).split("\n")).toEqual([
    `APICHAT_BOT_URL_HOOLI_3=${BASE}/f3`,
    `APICHAT_BOT_URL_ACME_NORTH_1=${BASE}/f1`,
    `APICHAT_BOT_URL_GLOBEX=${BASE}/f2`,
  ]);
  expect(formatEnvironmentLines({})).toBe("");
});

test("a shell and a reader of .env files read the same URLs, whatever they contain", () => {
  const [query, signs] = [`${BASE}/f1?a=1&b=$HOME`, `${BASE}/f1;(x)*!|"\\\`id\``];
  const [breaks, quote] = [`${BASE}/f1\nEVIL=1\r\u2028`, `${BASE}/o'brien#x`];
  const lines = formatEnvironmentLines({ query, signs, breaks, quote, empty: "" });
  // Line breaks and single quotes are percent-encoded; everything else is unchanged.
  const read = {
    APICHAT_BOT_URL_QUERY: query,
    APICHAT_BOT_URL_SIGNS: signs,
    APICHAT_BOT_URL_BREAKS: `${BASE}/f1%0AEVIL=1%0D%E2%80%A8`,
    APICHAT_BOT_URL_QUOTE: `${BASE}/o%27brien#x`,
    APICHAT_BOT_URL_EMPTY: "",
  };
  expect(parseEnv(lines)).toEqual(read);
  const script = `${lines}\nfor name in "$@"; do eval "printf '%s\\n' \\"\\$$name\\""; done`;
  const printed = execFileSync("sh", ["-euc", script, "sh", ...Object.keys(read)], { encoding: "utf8" });
  expect(printed.split("\n").slice(0, -1)).toEqual(Object.values(read));
});

test("names with the same variable are rejected, all of them at once", async () => {
  const urls = Object.fromEntries(["a.b", "a-b", "A_B", "c", "d.", "d-"].map((name) => [name, BASE]));
  const { code, message } = await failureOf(Promise.resolve(urls).then(formatEnvironmentLines));
  expect(code).toBe("invalid_config");
  expect(message).toMatch(
    /"A_B", "a-b", "a\.b" all map to the variable APICHAT_BOT_URL_A_B.*\n.*"d-", "d\." all map to/,
  );
});
