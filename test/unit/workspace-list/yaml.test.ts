import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  checkWorkspaces,
  readPlannedWorkspaces,
  readWorkspaceList,
} from "../../../provider/workspace-list/read.js";
import { makeFolder } from "../../support/folder.ts";
import { failureOf } from "../client/harness.ts";

const SECRET = "secret-word-0123456789";
const ADDRESS = "https://platform.example";
const WEBHOOK = "https://chat.example/hook";

afterEach(() => void vi.unstubAllEnvs());

/** Reads a list from a file. */
async function read(fileName: string, content: string, reader = readWorkspaceList) {
  const path = join(await makeFolder(), fileName);
  await writeFile(path, content);
  return reader(path);
}

/** Returns the lines of the error, from the file's name on, without the hint. Checks that they contain no secret. */
async function problemsOf(content: string, reader = readWorkspaceList): Promise<string[]> {
  const { code, operation, message } = await failureOf(read("list.yaml", content, reader));
  expect({ code, operation }).toEqual({ code: "invalid_config", operation: "check" });
  expect(message).not.toContain(SECRET);
  return message.split("\n").map((line) => line.replace(/^.*?(?=list\.yaml)/, "").replace(/;.*/, ""));
}

describe("a list of workspaces in YAML or JSON", () => {
  test("applies top-level values to each workspace that does not set its own", async () => {
    vi.stubEnv("FLEET_API_KEY", SECRET);
    const list = {
      webhookUrl: WEBHOOK,
      apiKeyEnv: "FLEET_API_KEY",
      workspaces: [
        { name: "acme", baseUrl: `${ADDRESS}/acme` },
        { name: "globex", baseUrl: `${ADDRESS}/globex`, webhookUrl: `${WEBHOOK}/2`, apiKey: "own-key" },
      ],
    };
    const expected = [
      { name: "acme", baseUrl: `${ADDRESS}/acme`, webhookUrl: WEBHOOK, apiKey: SECRET },
      { name: "globex", baseUrl: `${ADDRESS}/globex`, webhookUrl: `${WEBHOOK}/2`, apiKey: "own-key" },
    ];
    for (const reader of [readWorkspaceList, readPlannedWorkspaces])
      expect(await read("fleet.json", JSON.stringify(list), reader)).toStrictEqual(expected);
  });

  test("requires a webhook URL for a plan, but not for a fleet", async () => {
    const text = `workspaces:\n  - name: acme\n    baseUrl: ${ADDRESS}/acme`;
    expect(await read("fleet.yaml", text)).toStrictEqual([{ name: "acme", baseUrl: `${ADDRESS}/acme` }]);
    const more = `${text}\n  - name: globex\n    baseUrl: ${ADDRESS}/globex`;
    const missing = "list.yaml: webhookUrl is missing for acme";
    expect(await problemsOf(more, readPlannedWorkspaces)).toEqual([`${missing}, globex`]);
    const own = `${more}\n    webhookUrl: ${WEBHOOK}`;
    expect(await problemsOf(own, readPlannedWorkspaces)).toEqual([missing]);
  });

  test("accepts only names that work in a resource, a path and a log", async () => {
    const names = ["a b", "ä", "-a", "", "a/b", "x".repeat(65), "__proto__"];
    const workspaces = names.map((name, index) => ({ name, baseUrl: `${ADDRESS}/${index}` }));
    const text = JSON.stringify({ webhookUrl: WEBHOOK, workspaces });
    const expected = names.map((_, index): unknown =>
      expect.stringContaining(`workspaces[${index}].name: must be 1 to 64 of`),
    );
    expect(await problemsOf(text)).toEqual(expected);
  });

  test("reads only environment variables whose names contain API_KEY", async () => {
    vi.stubEnv("PULUMI_CONFIG_PASSPHRASE", SECRET);
    const workspace = `workspaces:\n  - name: acme\n    baseUrl: ${ADDRESS}/acme\n`;
    const entry = `${workspace}    apiKeyEnv: PULUMI_CONFIG_PASSPHRASE\n`;
    const top = `webhookUrl: ${WEBHOOK}\napiKeyEnv: PULUMI_CONFIG_PASSPHRASE\n${workspace}`;
    const problem =
      "must be the name of an environment variable for an API key, with API_KEY in it, such as ACME_API_KEY";
    expect(await problemsOf(entry)).toEqual([`list.yaml:4:16: workspaces[0].apiKeyEnv: ${problem}`]);
    expect(await problemsOf(top)).toEqual([`list.yaml:2:12: apiKeyEnv: ${problem}`]);
  });

  test("reports all problems at once, but clashes between entries only if there are no other problems", async () => {
    const wrong = [
      "webhookUrl: chat.example/hook",
      "workspaces:",
      `- { name: acme, baseUrl: "${ADDRESS}/acme", surplus: 1 }`,
      `- { name: b b, baseUrl: "${ADDRESS}/b", apiKey: one-key, apiKeyEnv: NO_API_KEY }`,
      `- ${SECRET}`,
    ];
    expect(await problemsOf(wrong.join("\n"))).toEqual([
      'list.yaml:1:13: webhookUrl: must be an absolute http or https URL, got "chat.example/hook"',
      "list.yaml:3:59: workspaces[0].surplus: is not a known field",
      'list.yaml:4:11: workspaces[1].name: must be 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-", ' +
        "starting with a letter or digit",
      "list.yaml:4:63: workspaces[1].apiKey: cannot be combined with apiKeyEnv",
      "list.yaml:4:83: workspaces[1].apiKeyEnv: must be the name of an environment variable that is set",
      "list.yaml:5:3: workspaces[2]: must be an object, got a string",
    ]);
    const twins = ["acme", "other"].map((path) => `\n- { name: acme, baseUrl: "${ADDRESS}/${path}" }`);
    expect(await problemsOf(`workspaces:${twins.join("")}`)).toEqual([
      'list.yaml:2:11: workspaces[0].name: "acme" is also the name of workspaces[1]',
      'list.yaml:3:11: workspaces[1].name: "acme" is also the name of workspaces[0]',
    ]);
  });
});

/** A list of two entries with the same address, written differently. */
function listOfTwo(top: object, first: object, second: object): string {
  const baseUrl = `${ADDRESS.toUpperCase().replace("HTTPS", "https")}:443/%61cme/`;
  const acme = { name: "acme", baseUrl: `${ADDRESS}/acme`, ...first };
  const globex = { name: "globex", baseUrl, ...second };
  return JSON.stringify({ webhookUrl: WEBHOOK, ...top, workspaces: [acme, globex] });
}

describe("two entries with one address", () => {
  test.each([
    ["from the environment", {}, {}, {}],
    ["written in both", {}, { apiKey: SECRET }, { apiKey: SECRET }],
    ["inherited from the top level", { apiKey: SECRET }, { apiKeyEnv: "SAME_API_KEY" }, {}],
  ])("are one workspace if they share an API key: %s", async (_, top, first, second) => {
    vi.stubEnv("SAME_API_KEY", SECRET);
    const problems = await problemsOf(listOfTwo(top, first, second));
    expect(problems.map((line) => line.replace(/^list.yaml:1:\d+: /, ""))).toEqual([
      'workspaces[0].baseUrl: reaches the same workspace as "globex", with the same API key',
      'workspaces[1].baseUrl: reaches the same workspace as "acme", with the same API key',
    ]);
  });

  test.each([
    [{ apiKey: "one" }, { apiKey: "two" }],
    [{ apiKey: "one" }, {}],
  ])("are accepted with the keys %j and %j", async (first, second) => {
    expect(await read("fleet.json", listOfTwo({}, first, second))).toHaveLength(2);
  });
});

test("workspaces passed by a program are checked like a list in a file", () => {
  const sound = { name: "acme", baseUrl: `${ADDRESS}/acme`, apiKey: SECRET };
  expect(checkWorkspaces([sound])).toStrictEqual([sound]);
  const wrong = [{ ...sound, extra: 1 }, { ...sound, baseUrl: 1 }, null];
  expect(() => checkWorkspaces(wrong)).toThrow(
    new RegExp(
      String.raw`^workspaces\[0\]\.extra: is not a known field.*\n` +
        String.raw`workspaces\[1\]\.baseUrl: must be a string, got a number.*\n` +
        String.raw`workspaces\[2\]: is empty \(null\); must be an object.*$`,
    ),
  );
  expect(() => checkWorkspaces([])).toThrow(/^workspaces: must have at least one entry$/);
});

test("a list of 3,000 workspaces can use the same YAML alias many times", async () => {
  const names = Array.from({ length: 3000 }, (_, index) => `customer-${index}`);
  const toEntry = (name: string, index: number): string =>
    `  - { name: ${name}, baseUrl: ${ADDRESS}/${name}, webhookUrl: ${index < 300 ? "*hook" : WEBHOOK} }`;
  const lines = [`webhookUrl: &hook ${WEBHOOK}`, "workspaces:", ...names.map(toEntry)];
  const workspaces = await read("fleet.yaml", lines.join("\n"));
  expect(workspaces.map(({ name }) => name)).toEqual(names);
  expect(new Set(workspaces.map(({ webhookUrl }) => webhookUrl))).toEqual(new Set([WEBHOOK]));
});

test.each([
  ["/none/fleet.yaml", "cannot be read (ENOENT); give the path of a YAML or JSON file"],
  ["fleet.CSV", "must be a YAML or JSON file, not CSV"],
])("the error for the list %s names the formats", async (path, problem) => {
  await expect(readWorkspaceList(path)).rejects.toThrow(`${path}: ${problem}`);
});
