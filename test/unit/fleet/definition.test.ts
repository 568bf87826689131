import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { resolveFleet, type FleetDefinition } from "../../../provider/fleet/definition.js";
import { failureOf } from "../client/harness.js";
import { makeFolder, randomKeyWebhook } from "./harness.js";

const SECRET = "secret-word-0123456789";

let folder: string;
beforeAll(async () => void (folder = await makeFolder()));

const workspace = (name: string) => ({ name, baseUrl: `https://platform.example/${name}` });

const definitionOf = (changes: object = {}): FleetDefinition => ({
  name: "production",
  workspaces: [workspace("acme")],
  webhook: randomKeyWebhook,
  folder,
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
    webhook: randomKeyWebhook,
    folder: join(folder, "production"),
    rotations: [],
    workspaces: [workspace("acme")],
  };
  expect(await resolveFleet(definitionOf())).toStrictEqual(filled);
  const given = {
    stacks: 999,
    project: "My.Project_1",
    secretsProvider: "awskms://alias/fleet",
    rotations: ["2026-12", "2026-09"],
  };
  expect(await resolveFleet(definitionOf(given))).toStrictEqual({ ...filled, ...given });
});

test("a fleet works in .fleet in the current folder, unless its definition says otherwise", async () => {
  const { folder: given } = await resolveFleet(definitionOf({ folder: undefined }));
  expect(given).toBe(join(process.cwd(), ".fleet", "production"));
});

test("everything that is wrong with a definition is reported at once, with its list and its files", async () => {
  const list = join(folder, "fleet.csv");
  await writeFile(list, `name,baseUrl\nacme,${SECRET}?${SECRET}\nb b,https://platform.example/b\n`);
  const problems = await problemsOf({
    name: "Production",
    stacks: 0,
    workspaces: list,
    webhook: "program.ts",
    project: "a/b",
    secretsProvider: "",
    stack: 1,
  });
  expect(problems.map((line) => line.replace(/[;,] .*/, ""))).toEqual([
    "name: must be 1 to 64 of a-z",
    "stacks: must be a whole number from 1 to 999",
    "webhook: must be a function",
    "project: must be 1 to 100 of A-Z",
    "secretsProvider: must not be empty",
    "stack: is not a known field (did you mean stacks?)",
    `${list}:2: baseUrl: must be an absolute http or https URL`,
    `${list}:3: name: must be 1 to 64 of A-Z`,
  ]);
  expect(problems[0]).toContain('got "Production"; for example "production"');
});

test.each([
  ["a long name", { name: "a".repeat(65) }, /^name: must be 1 to 64 of a-z/],
  ["no name", { name: undefined }, /^name: must be .*, got nothing; for example "production"$/],
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
    /^workspaces\[0\]\.baseUrl: is missing; must be a string$/,
  ],
  ["no webhook", { webhook: undefined }, /^webhook: must be a function, got nothing; write \(\{ baseUrl/],
  ["a program", { program: "program.ts" }, /^program: is not a known field/],
  [
    "a secret in a wrong field",
    { secretsProvider: [SECRET] },
    /^secretsProvider: must be a string, got a list;/,
  ],
])("a definition is refused for %s", async (_, changes, expected) => {
  expect(await problemsOf(definitionOf(changes))).toEqual([expect.stringMatching(expected)]);
});

test("no definition at all is refused", async () => {
  expect(await problemsOf(undefined)).toEqual(["is missing; must be an object"]);
});
