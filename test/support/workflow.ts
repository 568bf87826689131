import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { parse } from "yaml";

// Imitates the parts of GitHub Actions that the tests need to run a step of the example's workflows in bash.
type Values = Record<string, string>;

interface Job {
  uses?: string;
  with?: Values;
  steps?: { name?: string; run?: string; env?: Values }[];
}

export interface Workflow {
  concurrency?: { group: string };
  jobs: Record<string, Job>;
}

const folder = fileURLToPath(new URL("../../examples/fleet/.github/workflows/", import.meta.url));

export const readWorkflowText = (name: string): Promise<string> => readFile(`${folder}${name}.yaml`, "utf8");

export const readWorkflow = async (name: string): Promise<Workflow> =>
  parse(await readWorkflowText(name)) as Workflow;

/** Replaces expressions such as `${{ inputs.command }}` with their values in `contexts`. Throws if one has none. */
export const fillIn = (values: Values, contexts: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, text]) => [
      name,
      text.replaceAll(/\$\{\{ ([\w.-]+) \}\}/g, (_, path: string) => {
        if (contexts[path] === undefined) throw new Error(`unknown expression: ${path}`);
        return contexts[path];
      }),
    ]),
  );

export interface StepEnd {
  exitCode: number;
  outputs: Values;
  summary: string;
  printed: string;
}

/** Runs a script as GitHub does with `shell: bash`. */
export async function runStep(script: string, cwd: string, environment: Values): Promise<StepEnd> {
  const files = { GITHUB_OUTPUT: join(cwd, ".output"), GITHUB_STEP_SUMMARY: join(cwd, ".summary") };
  for (const file of Object.values(files)) await writeFile(file, "");
  await writeFile(join(cwd, ".step.sh"), script);
  const { exitCode = 1, all } = await execa(
    "bash",
    ["--noprofile", "--norc", "-eo", "pipefail", ".step.sh"],
    { cwd, env: { ...environment, ...files }, extendEnv: false, reject: false, all: true, stdin: "ignore" },
  );
  const [output, summary] = await Promise.all(Object.values(files).map((file) => readFile(file, "utf8")));
  const lines = (output ?? "").split("\n").filter(Boolean);
  const outputs = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  return { exitCode, outputs, summary: summary ?? "", printed: all };
}
