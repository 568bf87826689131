import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { fleetProgram } from "../../../provider/fleet/command/program.ts";
import { checkWorkflow } from "../../../tools/workflows.ts";

const EXAMPLE = new URL("../../../examples/fleet/.github/workflows/drift.yaml", import.meta.url);

interface Step {
  name?: string;
  uses?: string;
  if?: string;
  run?: string;
}

const text = await readFile(EXAMPLE, "utf8");
const { jobs } = parse(text) as { jobs: { watch: { steps: Step[] } } };
const { steps } = jobs.watch;
const stepNamed = (name: string): Step => steps.find((step) => step.name === name) ?? {};

const messagesOf = async (workflow: string): Promise<string[]> => {
  const problems = await checkWorkflow(workflow, "x.yaml");
  return problems.map(({ line, message }) => `${line}: ${message}`);
};

const lint = (...files: string[]) =>
  execa(process.execPath, ["tools/workflows.ts", ...files], { reject: false });

describe("the lint of workflows", () => {
  it("finds nothing in the example", async () => {
    expect(await messagesOf(text)).toEqual([]);
  });

  it.each([
    ["a misspelt key", ["runs-on: ubuntu-latest", "runs-onn: ubuntu-latest"], '"runs-on" section is missing'],
    ["a schedule that never comes", ['"17 5 * * *"', '"77 5 * * *"'], "invalid CRON format"],
    [
      "a context that does not exist",
      ["github.run_id", "github.run_idd"],
      'property "run_idd" is not defined',
    ],
    [
      "a step that does not exist",
      ["steps.watch.outputs", "steps.wach.outputs"],
      'property "wach" is not defined',
    ],
    ["an unknown permission", ["issues: write", "isues: write"], 'unknown permission scope "isues"'],
    [
      "an action that only a tag names",
      [/actions\/checkout@\w+ # v[\d.]+/, "actions/checkout@v7"],
      "must be pinned",
    ],
    [
      "a pinned action without its version",
      [/(actions\/checkout@\w+) # v[\d.]+/, "$1"],
      "version as a comment",
    ],
    ["what is no YAML", ["  contents: read", "  contents: [read"], "Flow sequence"],
  ])("finds %s, with its line", async (_, [from = "", to = ""], message) => {
    const broken = text.replace(from, to as string);
    expect(broken).not.toBe(text);
    expect((await messagesOf(broken)).join("\n")).toMatch(new RegExp(`^\\d+: .*${message}`, "m"));
  });

  it("ends with 0 over the repository, and with 1 over a broken file", async () => {
    expect(await lint()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("nothing is wrong") });
    const broken = join(folder, "broken.yaml");
    await writeFile(broken, text.replace("issues: write", "isues: write"));
    expect(await lint(broken)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/broken\.yaml:\d+:\d+: unknown permission/),
    });
  });
});

describe("the example workflow", () => {
  it("calls the watch with flags that the command has", () => {
    const source = { name: "node fleet.ts", open: () => Promise.reject(new Error("not needed")) };
    const watch = fleetProgram(source).commands.find((command) => command.name() === "watch");
    const [, line = ""] = /node fleet\.ts watch (.*?) \|\|/.exec(stepNamed("Watch").run ?? "") ?? [];
    const flags = line.match(/--[a-z-]+/g) ?? [];
    expect(flags).toEqual(["--markdown-file", "--json-file"]);
    expect(watch?.options.map(({ long }) => long)).toEqual(expect.arrayContaining(flags));
  });
});

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

/** Runs a step as GitHub does with `shell: bash`, in a folder with the stand-ins. */
async function runStep(name: string): Promise<{ code: number | undefined; output: string; summary: string }> {
  await writeFile(join(folder, "step.sh"), stepNamed(name).run ?? "exit 99");
  const { exitCode } = await execa("bash", ["--noprofile", "--norc", "-eo", "pipefail", "step.sh"], {
    cwd: folder,
    reject: false,
    env: {
      PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}`,
      GITHUB_OUTPUT: join(folder, "output"),
      GITHUB_STEP_SUMMARY: join(folder, "summary"),
      RUN_URL: "https://github.example/run/1",
    },
  });
  const [output, summary] = await Promise.all(["output", "summary"].map(readIfThere));
  return { code: exitCode, output: output ?? "", summary: summary ?? "" };
}

const readIfThere = (file: string): Promise<string> =>
  readFile(join(folder, file), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });

/** Has gh note its calls, and list one open issue, or none. */
const recordCalls = (issue: string): Promise<void> =>
  standIn("gh", `echo "$@" >> calls; if [ "$2" = list ]; then printf '%s' '${issue}'; fi`);

describe("the steps of the example workflow in bash, with a fake of the watch and of gh", () => {
  it.each([
    [0, { code: 0, output: "code=0\n", summary: "the report\n" }],
    [1, { code: 0, output: "code=1\n", summary: "the report\n" }],
    [2, { code: 2, output: "code=2\n", summary: "the report\n" }],
    [137, { code: 137, output: "code=137\n", summary: "the report\n" }],
  ])("passes without and with drift, fails else, and shows the report: %i", async (code, expected) => {
    await standIn("node", `echo the report > drift.md; exit ${code}`);
    expect(await runStep("Watch")).toEqual(expected);
  });

  it("takes a program that cannot be loaded for a failure, not for drift", async () => {
    await standIn("node", "exit 1");
    expect(await runStep("Watch")).toEqual({ code: 2, output: "code=2\n", summary: "" });
  });

  it("opens an issue with the start of a long report and where the whole one is", async () => {
    await recordCalls("");
    await writeFile(join(folder, "drift.md"), "ü".repeat(40_000));

    expect(await runStep("Open or update the issue")).toMatchObject({ code: 0 });

    expect(await readIfThere("calls")).toMatch(/issue create .*--body-file issue\.md/);
    const body = await readIfThere("issue.md");
    expect(body).toMatch(/^ü{20000,}\n\nThe whole report: https:\/\/github\.example\/run\/1\n$/);
    expect(body.length).toBeLessThan(65_536);
  });

  it("brings an open issue up to date, and closes it when the drift is gone", async () => {
    await recordCalls("17");
    await writeFile(join(folder, "drift.md"), "the report\n");

    expect(await runStep("Open or update the issue")).toMatchObject({ code: 0 });
    expect(await runStep("Close the issue")).toMatchObject({ code: 0 });

    const calls = await readIfThere("calls");
    expect(calls).toContain("issue edit 17 --body-file issue.md");
    expect(calls).toContain("issue close 17");
    expect(calls).not.toContain("issue create");
  });

  it("closes nothing where no issue is open", async () => {
    await recordCalls("");
    expect(await runStep("Close the issue")).toMatchObject({ code: 0 });
    expect(await readIfThere("calls")).not.toContain("issue close");
  });
});
