import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { resolveFleet, type FleetDefinition } from "../../../provider/fleet/definition.js";
import { failureOf } from "../client/harness.js";
import { makeFolder } from "../../support/folder.ts";
import { randomKeyWebhook } from "./harness.js";

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

test("a fleet's definition gets defaults only for values that it omits", async () => {
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

test("all problems of a definition are reported at once, before its list of workspaces is read", async () => {
  const wrong = { name: "Production", stacks: 0, webhook: "program.ts", project: "a/b", stack: 1 };
  const problems = await problemsOf({ ...wrong, secretsProvider: "", workspaces: "/none.yaml" });
  expect(problems.map((line) => line.replace(/[;,] .*/, ""))).toEqual([
    "name: must be 1 to 64 of a-z",
    "stacks: must be a whole number from 1 to 999",
    "webhook: must be a function",
    "project: must be 1 to 100 of A-Z",
    "secretsProvider: must not be empty",
    "stack: is not a known field",
  ]);
  expect(problems[0]).toContain('got "Production"; for example "production"');
});

test.each([
  ["being undefined", undefined, /^is missing; must be an object$/],
  ["a rotation twice", definitionOf({ rotations: ["a", "a"] }), /^rotations/],
  ["an empty list", definitionOf({ workspaces: [] }), /^workspaces: must have at least one entry$/],
  [
    "workspaces as an object",
    definitionOf({ workspaces: {} }),
    /^workspaces: must be a list or the path of a file/,
  ],
  ["a missing list", definitionOf({ workspaces: "/none.yaml" }), /^\/none\.yaml: cannot be read \(ENOENT\)/],
  ["a misplaced secret", definitionOf({ secretsProvider: [SECRET] }), /^secretsProvider: must be a string/],
])("a definition is rejected for %s", async (_, definition, problem) => {
  expect(await problemsOf(definition)).toEqual([expect.stringMatching(problem)]);
});
