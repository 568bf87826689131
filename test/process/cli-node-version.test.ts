import { execa } from "execa";
import { beforeAll, describe, expect, test } from "vitest";
import { makeFolder } from "./cli-harness.ts";
import { PROGRAM } from "./program.ts";

/** Makes Node look like an older one, and writes each package that is loaded on stderr. */
const PRETEND = `
import { writeSync } from "node:fs";
import { registerHooks } from "node:module";
Object.defineProperty(process.versions, "node", { value: "20.20.2" });
registerHooks({
  load(url, context, next) {
    if (url.includes("/node_modules/")) writeSync(2, url + "\\n");
    return next(url, context);
  },
});
`;

let hook: string;
beforeAll(async () => {
  const writeFile = await makeFolder();
  hook = await writeFile("pretend.mjs", PRETEND);
});

const runOnOldNode = (...parameters: string[]) =>
  execa(process.execPath, [`--import=${hook}`, PROGRAM, ...parameters], { reject: false });

const MESSAGE = /^(?:pulumi-)?apichat needs Node \d+\.\d+ or newer, this is 20\.20\.2; install it from /;

describe("apichat on a Node that is too old", () => {
  test.each(["doctor", "emulator", "--version"])("says so for %s, before it loads anything", async (word) => {
    const { exitCode, stdout, stderr } = await runOnOldNode(word);
    expect([exitCode, stdout]).toEqual([1, ""]);
    expect(stderr.split("\n")).toEqual([expect.stringMatching(/^error: /)]);
    expect(stderr.replace("error: ", "")).toMatch(MESSAGE);
  });

  test("says so as JSON too", async () => {
    const { stderr } = await runOnOldNode("doctor", "--json");
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string } };
    expect(error).toEqual({ code: "failed", message: expect.stringMatching(MESSAGE) as string });
  });
});

const MODULES = ["", "/dynamic", "/client", "/diagnosis", "/emulator", "/fleet"].map(
  (path) => `pulumi-apichat${path}`,
);

describe("the library on a Node that is too old", () => {
  test.each(MODULES)("says so when %s is loaded", async (module) => {
    const load = `try { require("${module}") } catch (error) { console.log(JSON.stringify([error.code, error.message])) }`;
    const { stdout } = await execa(process.execPath, [`--import=${hook}`, "-e", load]);
    expect(JSON.parse(stdout)).toEqual(["invalid_config", expect.stringMatching(MESSAGE)]);
  });
});
