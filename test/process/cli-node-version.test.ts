import { execa } from "execa";
import { beforeAll, expect, test } from "vitest";
import { LIST_PACKAGES, makeWriter } from "./cli-harness.ts";
import { PROGRAM } from "./program.ts";

let hook: string;
beforeAll(async () => {
  const writeFile = await makeWriter();
  const pretend = 'Object.defineProperty(process.versions, "node", { value: "20.20.2" });';
  hook = await writeFile("pretend.mjs", LIST_PACKAGES + pretend);
});

const MESSAGE = /^(?:pulumi-)?apichat needs Node \d+\.\d+ or newer, this is 20\.20\.2; install it from /;

test.each(["doctor", "emulator", "--version"])(
  "on a Node that is too old apichat %s only reports that, before it loads anything",
  async (word) => {
    const run = (...more: string[]) =>
      execa(process.execPath, [`--import=${hook}`, PROGRAM, word, ...more], { reject: false });
    const { exitCode, stdout, stderr } = await run();
    expect([exitCode, stdout, stderr.split("\n").length]).toEqual([1, "", 1]);
    expect(stderr.replace(/^error: /, "")).toMatch(MESSAGE);
    const { error } = JSON.parse((await run("--json")).stderr) as { error: object };
    expect(error).toEqual({ code: "failed", message: expect.stringMatching(MESSAGE) });
  },
);

test.each(["", "/dynamic", "/client", "/diagnosis", "/emulator", "/fleet"])(
  "on a Node that is too old pulumi-apichat%s cannot be loaded, and the error names the reason",
  async (path) => {
    const load = `try { require("pulumi-apichat${path}") } catch (error) { console.log(JSON.stringify([error.code, error.message])) }`;
    const { stdout } = await execa(process.execPath, [`--import=${hook}`, "-e", load]);
    expect(JSON.parse(stdout)).toEqual(["invalid_config", expect.stringMatching(MESSAGE)]);
  },
);
