import { execFileSync } from "node:child_process";
import { parseEnv } from "node:util";
import { describe, expect, test } from "vitest";
import { formatEnvironmentLines } from "../../../provider/cli/fleet/bot-url-lines.js";
import type { ApiChatError } from "../../../provider/errors/index.js";

const BASE = "https://bots.example/api/apichat";

const STRANGE: Record<string, string> = {
  query: `${BASE}/f1?a=1&b=$HOME`,
  signs: `${BASE}/f1;(x)*!|"\\\`id\``,
  breaks: `${BASE}/f1\nEVIL=1\r\u2028`,
  quote: `${BASE}/o'brien#x`,
  empty: "",
};

/** What must be read: line breaks and single quotes are percent-encoded, everything else is as it was. */
const READ = {
  APICHAT_BOT_URL_QUERY: STRANGE["query"],
  APICHAT_BOT_URL_SIGNS: STRANGE["signs"],
  APICHAT_BOT_URL_BREAKS: `${BASE}/f1%0AEVIL=1%0D%E2%80%A8`,
  APICHAT_BOT_URL_QUOTE: `${BASE}/o%27brien#x`,
  APICHAT_BOT_URL_EMPTY: "",
};

function failureOf(urls: Record<string, string>): ApiChatError | undefined {
  try {
    formatEnvironmentLines(urls);
    return undefined;
  } catch (error) {
    return error as ApiChatError;
  }
}

describe("the environment lines of bot URLs", () => {
  test("stand in the order of the names, in upper case, unquoted where nothing needs quotes", () => {
    const urls = { globex: `${BASE}/f2`, "acme-north.1": `${BASE}/f1`, Hooli_3: `${BASE}/f3` };
    expect(formatEnvironmentLines(urls).split("\n")).toEqual([
      `APICHAT_BOT_URL_HOOLI_3=${BASE}/f3`,
      `APICHAT_BOT_URL_ACME_NORTH_1=${BASE}/f1`,
      `APICHAT_BOT_URL_GLOBEX=${BASE}/f2`,
    ]);
    expect(formatEnvironmentLines({})).toBe("");
  });

  test("give a shell the URLs, whatever is in them", () => {
    const script = `${formatEnvironmentLines(STRANGE)}\nfor name in "$@"; do eval "printf '%s\\n' \\"\\$$name\\""; done`;
    const names = Object.keys(READ);
    const said = execFileSync("sh", ["-euc", script, "sh", ...names], { encoding: "utf8" });
    expect(said.split("\n").slice(0, -1)).toEqual(Object.values(READ));
  });

  test("give a reader of .env files the same URLs", () => {
    expect(parseEnv(formatEnvironmentLines(STRANGE))).toEqual(READ);
  });

  test("are refused where two names give one variable: all such names are told", () => {
    const names = ["a.b", "a-b", "A_B", "c", "d.", "d-"];
    const urls = Object.fromEntries(names.map((name) => [name, `${BASE}/${name}`]));
    const error = failureOf(urls);
    expect(error?.code).toBe("invalid_config");
    expect(error?.message.split("\n")).toEqual([
      expect.stringContaining('"A_B", "a-b", "a.b" all give APICHAT_BOT_URL_A_B'),
      expect.stringContaining('"d-", "d." all give APICHAT_BOT_URL_D_'),
    ]);
  });
});
