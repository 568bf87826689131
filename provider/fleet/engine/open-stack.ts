import { createHash } from "node:crypto";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import {
  LocalWorkspace,
  PulumiCommand,
  StackNotFoundError,
  type LocalWorkspaceOptions,
  type PulumiFn,
  type Stack,
} from "@pulumi/pulumi/automation/index.js";

export interface StackToOpen {
  stack: string;
  project: string;
  secretsProvider?: string;
  /** The folder that the engine runs programs and providers in. */
  main?: string;
  program: PulumiFn;
}

export interface OpenStack {
  stack: Stack;
  /** Whether it was made just now. */
  isNew: boolean;
}

let command: Promise<PulumiCommand> | undefined;

/** The `pulumi` on PATH; looked for once. Throws with how to get one. */
function getPulumi(): Promise<PulumiCommand> {
  command ??= PulumiCommand.get().catch((error: unknown) => {
    command = undefined;
    throw explainMissing(error);
  });
  return command;
}

function explainMissing(error: unknown): Error {
  const text = error instanceof Error ? error.message : String(error);
  return /ENOENT|not found/i.test(text)
    ? new Error("the command pulumi is not on PATH: install it (https://www.pulumi.com/docs/install/)", {
        cause: error,
      })
    : new Error(`the command pulumi cannot be used: ${text}`, { cause: error });
}

/** Gives the stack to `work`, made first if there is none. The stack's settings come from its state: no file stays behind. */
export function withStack<T>(place: StackToOpen, work: (opened: OpenStack) => Promise<T>): Promise<T> {
  return withSettings(place, async (settings) => {
    const found = await selectStack(place, settings);
    if (found) return work({ stack: found, isNew: false });
    const created = await LocalWorkspace.createStack(namesOf(place), {
      ...settings,
      ...(place.secretsProvider === undefined ? {} : { secretsProvider: place.secretsProvider }),
    });
    return work({ stack: created, isNew: true });
  });
}

/** Gives the stack to `work`; undefined if there is none. */
export function withExistingStack<T>(
  place: StackToOpen,
  work: (stack: Stack) => Promise<T>,
): Promise<T | undefined> {
  return withSettings(place, async (settings) => {
    const found = await selectStack(place, settings);
    return found && work(found);
  });
}

/** The names of a project's stacks. */
export function listStacks(project: string): Promise<string[]> {
  return withSettings({ project }, async (settings) => {
    const workspace = await LocalWorkspace.create(settings);
    const stacks = await workspace.listStacks();
    // Some backends give organization/project/name.
    return stacks.map(({ name }) => name.split("/").at(-1) ?? name).toSorted();
  });
}

const namesOf = ({ stack, project, program }: StackToOpen) => ({
  stackName: stack,
  projectName: project,
  program,
});

async function selectStack(place: StackToOpen, settings: LocalWorkspaceOptions): Promise<Stack | undefined> {
  try {
    return await LocalWorkspace.selectStack(namesOf(place), settings);
  } catch (error) {
    if (error instanceof StackNotFoundError) return undefined;
    throw error;
  }
}

/** A folder of its own for each task: the stacks of a project share a file there, and several are under way at once. */
async function withSettings<T>(
  { project, main }: { project: string; main?: string },
  work: (settings: LocalWorkspaceOptions) => Promise<T>,
): Promise<T> {
  const pulumiCommand = await getPulumi();
  const workDir = await realpath(await mkdtemp(join(tmpdir(), "apichat-fleet-")));
  try {
    return await work({
      workDir,
      pulumiCommand,
      envVars: { PULUMI_SKIP_UPDATE_CHECK: "true" },
      projectSettings: { name: project, runtime: "nodejs", ...(main === undefined ? {} : { main }) },
    });
  } finally {
    await rm(workDir, { recursive: true, force: true, maxRetries: 3 });
    await rm(selectionFile(project, workDir), { force: true });
  }
}

/** Where the engine notes which stack is selected in a folder: one file for each folder, which it never removes. */
function selectionFile(project: string, workDir: string): string {
  const home = process.env["PULUMI_HOME"] ?? join(homedir(), ".pulumi");
  const id = createHash("sha1").update(join(workDir, "Pulumi.yaml")).digest("hex");
  return join(home, "workspaces", `${project}-${id}-workspace.json`);
}
