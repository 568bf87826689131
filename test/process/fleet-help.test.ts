import { dirname } from "node:path";
import { execa } from "execa";
import { beforeAll, expect, test } from "vitest";
import { LIST_PACKAGES, makeWriter } from "./cli-harness.ts";

const entry = new URL("../../dist/provider/fleet/entry.js", import.meta.url).href;

const fleetOf = (workspaces: string): string => `
import { runFleetCommand } from "${entry}";
await runFleetCommand({
  name: "production",
  stacks: 2,
  workspaces: "${workspaces}",
  webhook: ({ baseUrl }) => ({ baseUrl, webhookUrl: "https://chat.example/", webhookVerificationKey: {} }),
});
`;

const entryOf = (name: string, baseUrl: string): string => `  - { name: ${name}, baseUrl: "${baseUrl}" }\n`;

let folder: string;
beforeAll(async () => {
  const entries = ["acme", "globex"].map((name) => entryOf(name, `https://platform.example/${name}`));
  const files: Record<string, string> = {
    "package.json": '{ "type": "module" }',
    "fleet.ts": fleetOf("workspaces.yaml"),
    "broken.ts": fleetOf("broken.yaml"),
    "workspaces.yaml": `workspaces:\n${entries.join("")}`,
    "broken.yaml": `workspaces:\n${entryOf("acme", "not a URL")}`,
    "list-packages.mjs": LIST_PACKAGES,
  };
  const writeFile = await makeWriter();
  const paths = await Promise.all(Object.entries(files).map(([name, text]) => writeFile(name, text)));
  folder = dirname(paths[0] ?? "");
});

/** Runs a fleet's command line. PATH contains no engine and no other program. */
const run = (words: string, file = "fleet.ts", env: Record<string, string> = {}) =>
  execa(process.execPath, [file, ...words.split(" ")], {
    cwd: folder,
    extendEnv: false,
    env: { PATH: folder, NO_COLOR: "1", ...env },
    reject: false,
    stdin: "ignore",
  });

test("a fleet command's --help loads no package except commander", async () => {
  const NODE_OPTIONS = `--import=${folder}/list-packages.mjs`;
  for (const words of ["--help", "up --help"]) {
    const { exitCode, stdout, stderr } = await run(words, "fleet.ts", { NODE_OPTIONS });
    expect([exitCode, [...new Set(stderr.trim().split("\n"))]]).toEqual([0, ["commander"]]);
    expect(stdout).toMatch(/^Usage: node fleet\.ts [^]*\nExit code: 0 /);
  }
});

test("an unknown option is a usage error that names the fleet's command", async () => {
  const { exitCode, stdout, stderr } = await run("up --frob --json");
  expect([exitCode, stdout]).toEqual([2, ""]);
  const message = "unknown option '--frob'; see node fleet.ts up --help";
  expect(JSON.parse(stderr)).toEqual({ error: { code: "usage", message } });
});

test.each([
  ["an invalid list", "broken.ts", /^error: .*broken\.yaml:2:28: workspaces\[0\]\.baseUrl/],
  ["no engine", "fleet.ts", /^error: .*pulumi/i],
])("watch with %s exits with 2, and reports the reason", async (_, file, message) => {
  const { exitCode, stdout, stderr } = await run("watch", file);
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(message);
});

test("stacks needs no engine", async () => {
  const stacks = JSON.parse((await run("stacks --json")).stdout) as { stack: string; workspaces: string[] }[];
  expect(stacks.map(({ stack }) => stack)).toEqual(["production-0-of-2", "production-1-of-2"]);
  expect(stacks.flatMap(({ workspaces }) => workspaces).toSorted()).toEqual(["acme", "globex"]);
});
