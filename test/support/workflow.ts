import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { parse } from "yaml";

/**
 * The parts of GitHub Actions that the tests need: steps of the example's workflows in bash, and artifacts in
 * a folder.
 */

type Scalar = string | number | boolean;
type Values = Record<string, Scalar>;

interface Step {
  id?: string;
  name?: string;
  uses?: string;
  if?: string;
  run?: string;
  env?: Values;
  with?: Values;
}

export interface Job {
  uses?: string;
  with?: Record<string, string>;
  secrets?: Values | "inherit";
  outputs?: Record<string, string>;
  steps?: Step[];
}

export interface Workflow {
  on?: { workflow_call?: { inputs: Record<string, { default?: string }> } };
  env?: Values;
  concurrency?: { group: string };
  jobs: Record<string, Job>;
}

/** The values of expressions, by context (such as `inputs`) and name. */
export type Contexts = Record<string, unknown>;

const folder = fileURLToPath(new URL("../../examples/fleet/.github/", import.meta.url));

export const readWorkflowText = (name: string): Promise<string> =>
  readFile(`${folder}workflows/${name}.yaml`, "utf8");

export const readWorkflow = async (name: string): Promise<Workflow> =>
  parse(await readWorkflowText(name)) as Workflow;

/** Replaces the expressions of a text with their values. Throws if a name is unknown. */
export function fillIn(text: string, contexts: Contexts): string {
  return text.replaceAll(/\$\{\{ ([\w.-]+) \}\}/g, (_, path: string) => {
    const value = valueOf(path, contexts);
    return typeof value === "object" ? JSON.stringify(value) : `${value as Scalar}`;
  });
}

function valueOf(path: string, contexts: Contexts): unknown {
  const value = path
    .split(".")
    .reduce<unknown>((found, part) => (found as Contexts | undefined)?.[part], contexts);
  if (value === undefined) throw new Error(`nothing is called ${path}`);
  return value;
}

const fillAll = (values: Values = {}, contexts: Contexts): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, text]) => [name, fillIn(`${text}`, contexts)]));

/** The machine of a job: a folder with the repository, and the environment of its commands. */
export interface Machine {
  folder: string;
  environment: Record<string, string>;
  /** The artifacts of a run's jobs. */
  artifacts: string;
}

export interface JobEnd {
  /** The exit code of the first step that failed, or 0. */
  exitCode: number;
  outputs: Record<string, string>;
  summary: string;
  /** All that the steps printed. */
  printed: string;
}

/** Runs the steps of a job. After a failure, only those with a condition for it run. */
export async function runJob(
  { env, steps = [], outputs }: Job & Pick<Workflow, "env">,
  contexts: Contexts,
  machine: Machine,
): Promise<JobEnd> {
  const ended: Record<string, { outputs: Record<string, string> }> = {};
  const all = { ...contexts, steps: ended };
  const end: JobEnd = { exitCode: 0, outputs: {}, summary: "", printed: "" };
  for (const step of await withOwnActions(steps)) {
    if (!isDue(step, all, end.exitCode)) continue;
    await keepArtifacts(step, all, machine);
    if (step.run === undefined) continue;
    const ran = await runStep(step.run, {
      ...machine,
      environment: { ...machine.environment, ...fillAll(env, all), ...fillAll(step.env, all) },
    });
    if (step.id !== undefined) ended[step.id] = { outputs: ran.outputs };
    end.exitCode ||= ran.exitCode;
    end.summary += ran.summary;
    end.printed += ran.printed;
  }
  if (end.exitCode === 0) end.outputs = fillAll(outputs, all);
  return end;
}

/** Replaces the call of an action of the repository with its steps. */
async function withOwnActions(steps: readonly Step[]): Promise<Step[]> {
  const expanded = steps.map(async (step) => {
    const [, own] = /^\.\/\.github\/(actions\/.+)$/.exec(step.uses ?? "") ?? [];
    if (own === undefined) return [step];
    const { runs } = parse(await readFile(`${folder}${own}/action.yaml`, "utf8")) as { runs: Job };
    return runs.steps ?? [];
  });
  return (await Promise.all(expanded)).flat();
}

/** Evaluates the conditions of the workflows: not cancelled, or an output of a step. */
function isDue({ if: condition = "success()" }: Step, contexts: Contexts, exitCode: number): boolean {
  const [, path = "", value] = /^\$\{\{ ([\w.]+) == '(\d)' \}\}$/.exec(condition) ?? [];
  if (value !== undefined) return exitCode === 0 && fillIn(`\${{ ${path} }}`, contexts) === value;
  return condition.includes("!cancelled()") || exitCode === 0;
}

async function keepArtifacts(
  step: Step,
  contexts: Contexts,
  { folder: from, artifacts }: Machine,
): Promise<void> {
  if (!step.uses?.startsWith("actions/upload-artifact@")) return;
  const { name = "", path = "" } = fillAll(step.with, contexts);
  for (const file of path.trim().split(/\s+/)) {
    // It may be missing: if-no-files-found.
    await cp(join(from, file), join(artifacts, name, file)).catch(() => undefined);
  }
}

/** Runs a script as GitHub does with `shell: bash`. */
export async function runStep(
  script: string,
  { folder: cwd, environment }: Pick<Machine, "folder" | "environment">,
): Promise<JobEnd> {
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
