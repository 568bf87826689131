import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { ApiChatError } from "../../../provider/errors/index.js";
import type { FleetDefinition } from "../../../provider/fleet/definition.js";
import { stackOf } from "../../../provider/fleet/placement.js";
import { resolveFleet } from "../../../provider/fleet/resolve.js";

const SECRET = "secret-word-0123456789";

let folder: string;
let program: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "apichat-fleet-"));
  program = join(folder, "program.ts");
  await writeFile(program, "export default () => ({});\n");
  return () => rm(folder, { recursive: true });
});

const workspace = (name: string) => ({ name, baseUrl: `https://platform.example/${name}` });

const definitionOf = (changes: object = {}): FleetDefinition => ({
  name: "production",
  stacks: 4,
  workspaces: [workspace("acme")],
  program,
  ...changes,
});

async function problemsOf(definition: unknown): Promise<string[]> {
  const error = await resolveFleet(definition as FleetDefinition).then(
    () => undefined,
    (reason: unknown) => reason as ApiChatError,
  );
  expect(error).toMatchObject({ code: "invalid_config", operation: "check" });
  expect(error?.message).not.toContain(SECRET);
  return (error?.message ?? "").split("\n");
}

describe("a fleet's definition", () => {
  test("is filled up with defaults, and keeps what it says", async () => {
    const given = {
      project: "My.Project_1",
      secretsProvider: "awskms://alias/fleet",
      dataDir: join(folder, "data"),
    };
    expect(await resolveFleet(definitionOf(given))).toMatchObject(given);
    expect(await resolveFleet(definitionOf({ stacks: 1 }))).toStrictEqual({
      name: "production",
      project: "apichat-fleet",
      indexStack: "production-index",
      program: pathToFileURL(program).href,
      dataDir: join(folder, ".fleet", "production"),
      workspaces: [workspace("acme")],
      stacks: [{ name: "production-0-of-1", index: 0, workspaces: [workspace("acme")] }],
    });
  });

  test("may give program and folder as URL, as text of a URL, or relative to the current folder", async () => {
    const url = pathToFileURL(program);
    const ways = [url, url.href, program, relative(process.cwd(), program)];
    const dataDir = relative(process.cwd(), join(folder, "data"));
    const fleets = await Promise.all(
      ways.map((way) => resolveFleet(definitionOf({ program: way, dataDir }))),
    );
    expect(fleets.map((fleet) => [fleet.program, fleet.dataDir])).toEqual(
      ways.map(() => [url.href, join(folder, "data")]),
    );
  });

  test("splits its workspaces over all of its stacks, and loses none", async () => {
    const names = Array.from({ length: 60 }, (_, index) => `customer-${index}`);
    const fleet = await resolveFleet(definitionOf({ stacks: 100, workspaces: names.map(workspace) }));
    expect(fleet.stacks).toHaveLength(100);
    expect(fleet.stacks.map(({ name }) => name).slice(6, 8)).toEqual([
      "production-06-of-100",
      "production-07-of-100",
    ]);
    for (const { index, workspaces } of fleet.stacks) {
      expect(workspaces.map(({ name }) => name)).toEqual(
        names.filter((name) => stackOf(name, 100) === index),
      );
    }
    expect(fleet.workspaces.map(({ name }) => name)).toEqual(names);
  });

  test("is told everything that is wrong with it at once, with its list and its files", async () => {
    const list = join(folder, "fleet.csv");
    await writeFile(list, `name,baseUrl\nacme,${SECRET}?${SECRET}\nb b,https://platform.example/b\n`);
    const problems = await problemsOf({
      name: "Production",
      stacks: 0,
      workspaces: list,
      program: join(folder, "none.ts"),
      project: "a/b",
      secretsProvider: "",
      dataDir: program,
      stack: 1,
    });
    expect(problems.map((line) => line.replace(/[;,] .*/, ""))).toEqual([
      "name: must be 1 to 64 of a-z",
      "stacks: must be a whole number from 1 to 999",
      "project: must be 1 to 100 of A-Z",
      "secretsProvider: must be a text",
      "stack: is not a known field",
      `program: must be a file`,
      `dataDir: must be a folder`,
      `${list}:2: baseUrl: must be an absolute http or https URL`,
      `${list}:3: name: must be 1 to 64 of A-Z`,
    ]);
    expect(problems[0]).toContain('got "Production"; write for example "production"');
  });
});

describe("a fleet's definition is refused", () => {
  test.each([
    ["a name that ends with a dash", { name: "a-" }, /^name: must be/],
    ["no name", { name: undefined }, /^name: must be .*, got nothing; write for example "production"$/],
    ["a thousand stacks", { stacks: 1000 }, /^stacks: must be a whole number from 1 to 999, got 1000;/],
    ["part of a stack", { stacks: 1.5 }, /^stacks: must be a whole number from 1 to 999, got 1.5;/],
    [
      "workspaces by name",
      { workspaces: {} },
      /^workspaces: must be a list or the path of a file, got an object;/,
    ],
    ["a list that is not there", { workspaces: "/none.csv" }, /^\/none\.csv: cannot be read \(ENOENT\)/],
    [
      "a program elsewhere",
      { program: "https://x.example/p.ts" },
      /^program: must be the URL of a file or its path/,
    ],
    [
      "a function as program",
      { program: () => ({}) },
      /^program: must be the URL of a file or its path, got a function/,
    ],
    ["no program", { program: undefined }, /^program: must be the URL of a file or its path, got nothing;/],
    [
      "a secret in a wrong field",
      { secretsProvider: [SECRET] },
      /^secretsProvider: must be a text, got a list;/,
    ],
  ])("for %s", async (_, changes, expected) => {
    const problems = await problemsOf(definitionOf(changes));
    expect(problems).toEqual([expect.stringMatching(expected)]);
  });

  test("for a program that is a folder, and for none at all", async () => {
    await mkdir(join(folder, "src"));
    expect(await problemsOf(definitionOf({ program: join(folder, "src") }))).toEqual([
      `program: must be a file, and ${join(folder, "src")} is none; give the module of the program`,
    ]);
    expect(await problemsOf(undefined)).toEqual(["is missing; must be an object"]);
  });
});

test("a fleet's list may give keys by the names of variables", async () => {
  process.env["FLEET_TEST_API_KEY"] = SECRET;
  onTestFinished(() => {
    delete process.env["FLEET_TEST_API_KEY"];
  });
  const list = join(folder, "fleet.yaml");
  await writeFile(
    list,
    `apiKeyEnv: FLEET_TEST_API_KEY\nworkspaces: [${JSON.stringify(workspace("acme"))}]\n`,
  );
  const { workspaces } = await resolveFleet(definitionOf({ workspaces: list }));
  expect(workspaces).toStrictEqual([{ ...workspace("acme"), apiKey: SECRET }]);
});
