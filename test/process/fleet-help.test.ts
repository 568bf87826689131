import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TELL_PACKAGES } from "./tell-packages.ts";

const command = new URL("../../dist/provider/fleet/command.js", import.meta.url).href;
const index = new URL("../../dist/provider/fleet/index.js", import.meta.url).href;

const fleetOf = (workspaces: string): string => `
import { runFleetCommand } from "${command}";
await runFleetCommand({
  name: "production",
  stacks: 2,
  workspaces: "${workspaces}",
  program: new URL("./program.ts", import.meta.url),
});
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "apichat-fleet-help-"));
  const files: Record<string, string> = {
    "package.json": '{ "type": "module" }',
    "fleet.ts": fleetOf("workspaces.csv"),
    "broken.ts": fleetOf("broken.csv"),
    "program.ts": "export default () => ({});",
    "workspaces.csv":
      "name,baseUrl\nacme,https://platform.example/acme\nglobex,https://platform.example/globex\n",
    "broken.csv": "name,baseUrl\nacme,not a URL\n",
    "tell-packages.mjs": TELL_PACKAGES,
    "index.ts": `await import("${index}");`,
  };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs the command line of a fleet without an engine: nothing that it needs is on PATH. */
const run = (
  words: string,
  { file = "fleet.ts", env = {} }: { file?: string; env?: Record<string, string> } = {},
) =>
  execa(process.execPath, [file, ...words.split(" ").filter(Boolean)], {
    cwd: folder,
    extendEnv: false,
    env: { PATH: folder, NO_COLOR: "1", ...env },
    reject: false,
    stdin: "ignore",
  });

describe("--help of a fleet", () => {
  test.each(["", "plan", "up", "refresh", "rotate", "watch", "bot-urls", "stacks", "destroy"])(
    "of %s has examples and exit codes, and loads no package but commander",
    async (words) => {
      const env = { NODE_OPTIONS: `--import=${join(folder, "tell-packages.mjs")}` };
      const { exitCode, stdout, stderr } = await run(`${words} --help`, { env });
      expect(exitCode).toBe(0);
      expect([...new Set(stderr.trim().split("\n"))]).toEqual(["commander"]);
      expect(stdout).toMatch(/^Usage: node fleet\.ts /);
      expect(stdout).toMatch(/\nExamples:\n {2}\$ node fleet\.ts /);
      expect(stdout).toMatch(/\nExit code: 0 /);
    },
  );
});

test("importing pulumi-apichat/fleet loads no package but commander: no SDK, no HTTP client", async () => {
  const env = { NODE_OPTIONS: `--import=${join(folder, "tell-packages.mjs")}` };
  const { exitCode, stderr } = await run("", { file: "index.ts", env });
  expect(exitCode).toBe(0);
  expect([...new Set(stderr.trim().split("\n"))]).toEqual(["commander"]);
});

describe("wrong use of a fleet's command line ends with 2", () => {
  test.each([
    ["frob", "unknown command 'frob'; see node fleet.ts --help"],
    ["up --frob", "unknown option '--frob'; see node fleet.ts up --help"],
    [
      "watch --stacks-at-once 0",
      "option '--stacks-at-once <n>' argument '0' is invalid. It must be a whole number from 1; see node fleet.ts watch --help",
    ],
    [
      "up --most-removals=-1",
      "option '--most-removals <n>' argument '-1' is invalid. It must be a whole number from 0; see node fleet.ts up --help",
    ],
    [
      "bot-urls --env --json",
      "option '--env' cannot be used with option '--json'; see node fleet.ts bot-urls --help",
    ],
    [
      "plan --json-file nowhere/plan.json",
      "--json-file: nothing can be written in the folder FOLDER/nowhere; make it, or name another one",
    ],
  ])("%s", async (words, message) => {
    const { exitCode, stdout, stderr } = await run(`${words} --json`);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    const said = JSON.parse(stderr) as { error: { code: string; message: string } };
    expect(said.error).toEqual({ code: "wrong_use", message: message.replace("FOLDER", folder) });
  });

  test.each(["plan", "up --yes", "watch", "stacks", "bot-urls"])(
    "a list that is wrong, at %s: every line of it is told",
    async (words) => {
      const { exitCode, stdout, stderr } = await run(words, { file: "broken.ts" });
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
      expect(stderr).toMatch(/^error: .*broken\.csv/);
      expect(stderr).toMatch(/baseUrl/);
    },
  );
});

describe("without an engine", () => {
  test("stacks tells where the workspaces are", async () => {
    const { exitCode, stdout } = await run("stacks --json");
    expect(exitCode).toBe(0);
    const stacks = JSON.parse(stdout) as { stack: string; workspaces: string[] }[];
    expect(stacks.map(({ stack }) => stack)).toEqual(["production-0-of-2", "production-1-of-2"]);
    expect(stacks.flatMap(({ workspaces }) => workspaces).toSorted()).toEqual(["acme", "globex"]);
  });

  test.each([
    ["plan", 1],
    ["watch", 2],
  ])("%s says that there is no engine, and ends with %i", async (words, expected) => {
    const { exitCode, stdout, stderr } = await run(words);
    expect({ exitCode, stdout }).toEqual({ exitCode: expected, stdout: "" });
    expect(stderr).toMatch(/^error: .*pulumi/i);
  });
});
