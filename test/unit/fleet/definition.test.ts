import { writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { resolveFleet, type FleetDefinition } from "../../../provider/fleet/definition.js";
import { failureOf } from "../client/harness.js";
import { makeFolder } from "./harness.js";

const SECRET = "secret-word-0123456789";

let folder: string;
let program: string;
beforeAll(async () => void ({ folder, program } = await makeFolder()));

const workspace = (name: string) => ({ name, baseUrl: `https://platform.example/${name}` });

const definitionOf = (changes: object = {}): FleetDefinition => ({
  name: "production",
  workspaces: [workspace("acme")],
  program,
  ...changes,
});

async function problemsOf(definition: unknown): Promise<string[]> {
  const { code, operation, message } = await failureOf(resolveFleet(definition as FleetDefinition));
  expect({ code, operation }).toEqual({ code: "invalid_config", operation: "check" });
  expect(message).not.toContain(SECRET);
  return message.split("\n");
}

test("a fleet's definition gets defaults, and keeps what it has", async () => {
  const filled = {
    name: "production",
    project: "apichat-fleet",
    program: pathToFileURL(program).href,
    provider: "dynamic",
    folder: join(folder, ".fleet", "production"),
    rotations: [],
    workspaces: [workspace("acme")],
  };
  expect(await resolveFleet(definitionOf())).toStrictEqual(filled);
  const given = {
    provider: "plugin" as const,
    stacks: 999,
    project: "My.Project_1",
    secretsProvider: "awskms://alias/fleet",
    rotations: ["2026-12", "2026-09"],
  };
  expect(await resolveFleet(definitionOf(given))).toStrictEqual({ ...filled, ...given });
});

test("a program may be a URL, the text of a URL, or a path from the current folder", async () => {
  const url = pathToFileURL(program);
  const ways = [url, url.href, program, relative(process.cwd(), program)];
  const fleets = await Promise.all(ways.map((way) => resolveFleet(definitionOf({ program: way }))));
  expect(fleets.map((fleet) => fleet.program)).toEqual(ways.map(() => url.href));
});

test("everything that is wrong with a definition is reported at once, with its list and its files", async () => {
  const list = join(folder, "fleet.csv");
  await writeFile(list, `name,baseUrl\nacme,${SECRET}?${SECRET}\nb b,https://platform.example/b\n`);
  const problems = await problemsOf({
    name: "Production",
    stacks: 0,
    workspaces: list,
    program: join(folder, "none.ts"),
    project: "a/b",
    secretsProvider: "",
    stack: 1,
  });
  expect(problems.map((line) => line.replace(/[;,] .*/, ""))).toEqual([
    "name: must be 1 to 64 of a-z",
    "stacks: must be a whole number from 1 to 999",
    "project: must be 1 to 100 of A-Z",
    "secretsProvider: must be a text",
    "stack: is not a known field",
    "program: must be a file",
    `${list}:2: baseUrl: must be an absolute http or https URL`,
    `${list}:3: name: must be 1 to 64 of A-Z`,
  ]);
  expect(problems[0]).toContain('got "Production"; write for example "production"');
});

test.each([
  ["a long name", { name: "a".repeat(65) }, /^name: must be 1 to 64 of a-z/],
  ["no name", { name: undefined }, /^name: must be .*, got nothing; write for example "production"$/],
  ["a thousand stacks", { stacks: 1000 }, /^stacks: must be a whole number from 1 to 999, got 1000;/],
  ["stacks as text", { stacks: "4" }, /^stacks: must be a whole number from 1 to 999, got "4";/],
  ["a rotation twice", { rotations: ["a", "a"] }, /^rotations/],
  ["no workspace", { workspaces: [] }, /^workspaces: must have at least one entry$/],
  [
    "workspaces by name",
    { workspaces: {} },
    /^workspaces: must be a list or the path of a file, got an object;/,
  ],
  ["a list that is not there", { workspaces: "/none.csv" }, /^\/none\.csv: cannot be read \(ENOENT\)/],
  [
    "a wrong workspace",
    { workspaces: [{ name: "a" }] },
    /^workspaces\[0\]\.baseUrl: is missing; must be a text$/,
  ],
  [
    "a program elsewhere",
    { program: "https://x.example/p.ts" },
    /^program: must be the URL of a file or its path/,
  ],
  ["a function as program", { program: () => ({}) }, /^program: must be .*, got a function/],
  [
    "a secret in a wrong field",
    { secretsProvider: [SECRET] },
    /^secretsProvider: must be a text, got a list;/,
  ],
])("a definition is refused for %s", async (_, changes, expected) => {
  expect(await problemsOf(definitionOf(changes))).toEqual([expect.stringMatching(expected)]);
});

test("a definition is refused for a program that is a folder, and for none at all", async () => {
  expect(await problemsOf(definitionOf({ program: folder }))).toEqual([
    `program: must be a file, and ${folder} is none; give the module of the program`,
  ]);
  expect(await problemsOf(undefined)).toEqual(["is missing; must be an object"]);
});
