import { dirname } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, expect, test } from "vitest";
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
    "index.ts": `await import("${entry}");`,
  };
  const writeFile = await makeWriter();
  const paths = await Promise.all(Object.entries(files).map(([name, text]) => writeFile(name, text)));
  folder = dirname(paths[0] ?? "");
});

/** Runs the command line of a fleet without an engine: nothing that it needs is on PATH. */
const run = (words: string, file = "fleet.ts", env: Record<string, string> = {}) =>
  execa(process.execPath, [file, ...words.split(" ").filter(Boolean)], {
    cwd: folder,
    extendEnv: false,
    env: { PATH: folder, NO_COLOR: "1", ...env },
    reject: false,
    stdin: "ignore",
  });

/** Runs it, and returns the packages that it loads instead of stderr. */
async function listPackages(words: string, file?: string) {
  const { exitCode, stdout, stderr } = await run(words, file, {
    NODE_OPTIONS: `--import=${folder}/list-packages.mjs`,
  });
  return { exitCode, stdout, packages: [...new Set(stderr.trim().split("\n"))] };
}

test("--help of every fleet command loads no package but commander", async () => {
  for (const words of ["--help", "up --help"]) {
    expect(await listPackages(words)).toEqual({
      exitCode: 0,
      packages: ["commander"],
      stdout: expect.stringMatching(/^Usage: node fleet\.ts [^]*\nExit code: 0 /),
    });
  }
});

test("importing pulumi-apichat/fleet loads no package but commander: no SDK, no HTTP client", async () => {
  expect(await listPackages("", "index.ts")).toMatchObject({ exitCode: 0, packages: ["commander"] });
});

describe("a usage error of a fleet's command line ends with 2", () => {
  test.each([
    ["up --frob", "unknown option '--frob'; see node fleet.ts up --help"],
    [
      "watch --stacks-at-once 0",
      "option '--stacks-at-once <n>' argument '0' is invalid. It must be a whole number from 1; " +
        "see node fleet.ts watch --help",
    ],
  ])("%s", async (words, message) => {
    const { exitCode, stdout, stderr } = await run(`${words} --json`);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(JSON.parse(stderr)).toEqual({ error: { code: "usage", message } });
  });

  test("a list that is wrong: its line and field are named", async () => {
    const { exitCode, stdout, stderr } = await run("watch", "broken.ts");
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^error: .*broken\.yaml:2:28: workspaces\[0\]\.baseUrl/);
  });
});

test.each([
  ["plan", 1],
  ["watch", 2],
])("without an engine %s reports that, and ends with %i", async (words, expected) => {
  const { exitCode, stdout, stderr } = await run(words);
  expect({ exitCode, stdout }).toEqual({ exitCode: expected, stdout: "" });
  expect(stderr).toMatch(/^error: .*pulumi/i);
});

test("stacks needs no engine", async () => {
  const stacks = JSON.parse((await run("stacks --json")).stdout) as { stack: string; workspaces: string[] }[];
  expect(stacks.map(({ stack }) => stack)).toEqual(["production-0-of-2", "production-1-of-2"]);
  expect(stacks.flatMap(({ workspaces }) => workspaces).toSorted()).toEqual(["acme", "globex"]);
});
