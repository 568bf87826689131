import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  LocalWorkspace,
  PulumiCommand,
  type ConfigMap,
  type PulumiFn,
  type Stack,
} from "@pulumi/pulumi/automation/index.js";
import { engineEnvironment } from "../../tools/engine/environment.ts";
import { resolveEngine } from "../../tools/engine/resolve.ts";

/** A folder with the file backend of one test's stacks, and a Pulumi home of its own. */
export interface Backend {
  folder: string;
  environment: Record<string, string>;
  remove(): Promise<void>;
}

export interface TestStack {
  /** The stack of the Automation API, for whatever has no shorter form here. */
  stack: Stack;
  /** Runs another program from the next command on. */
  run(program: PulumiFn): void;
  /** Changes the environment of the engine and the provider from the next command on; undefined removes a variable. */
  setEnvironment(variables: Record<string, string | undefined>): void;
  up(options?: Parameters<Stack["up"]>[0]): Promise<Outcome>;
  preview(options?: Parameters<Stack["preview"]>[0]): Promise<Outcome>;
  refresh(options?: Parameters<Stack["refresh"]>[0]): Promise<Outcome>;
  destroy(options?: Parameters<Stack["destroy"]>[0]): Promise<Outcome>;
  outputs(): Promise<Record<string, unknown>>;
  /** The resources of the exported state, secrets encrypted, as `pulumi stack export` prints them. */
  exportedState(): Promise<string>;
  /** Everything that every command printed so far. */
  printed(): string;
}

export interface Outcome {
  ok: boolean;
  /** Both streams of the command, and the error if it failed. */
  output: string;
  /** The counts of the summary, such as { create: 1, same: 2 }; empty if the command failed. */
  changes: Record<string, number>;
}

const PASSPHRASE = "passphrase-of-the-tests";

export async function createBackend(): Promise<Backend> {
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-test-"));
  const engine = await resolveEngine();
  const run = { home: join(folder, "home"), backend: folder, passphrase: PASSPHRASE };
  const environment = engineEnvironment(engine, run) as Record<string, string>;
  return { folder, environment, remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }) };
}

/**
 * A stack on the real engine with an inline program. The engine and the provider are processes of their own; only the
 * program runs here.
 */
export async function createStack(
  backend: Backend,
  options: { name?: string; program: PulumiFn; config?: ConfigMap; environment?: Record<string, string> },
): Promise<TestStack> {
  const engine = await resolveEngine();
  const pulumiCommand = await PulumiCommand.get({
    root: join(engine.directory, ".."),
    skipVersionCheck: true,
  });
  const name = options.name ?? "dev";
  let program = options.program;
  let printed = "";
  // Within the backend's folder, so that it goes with it: by itself the Automation API leaves its folders behind.
  const workDir = await mkdtemp(join(backend.folder, "workspace-"));
  const stack = await LocalWorkspace.createOrSelectStack(
    { stackName: name, projectName: "test", program: () => program() },
    {
      workDir,
      pulumiCommand,
      envVars: { ...backend.environment, ...options.environment },
      projectSettings: {
        name: "test",
        runtime: "nodejs",
        main: process.cwd(),
        backend: { url: `file://${backend.folder}` },
      },
    },
  );
  if (options.config) await stack.setAllConfig(options.config);

  const observe = async (
    command: (onOutput: (text: string) => void) => Promise<{ summary?: { resourceChanges?: object } }>,
  ): Promise<Outcome> => {
    let output = "";
    const onOutput = (text: string): void => void (output += text);
    try {
      const result = await command(onOutput);
      return { ok: true, output, changes: { ...result.summary?.resourceChanges } };
    } catch (error) {
      output += String(error);
      return { ok: false, output, changes: {} };
    } finally {
      printed += output;
    }
  };

  return {
    stack,
    run: (next) => (program = next),
    setEnvironment: (variables) => {
      const current = { ...stack.workspace.envVars };
      for (const [key, value] of Object.entries(variables)) {
        if (value === undefined) delete current[key];
        else current[key] = value;
      }
      stack.workspace.envVars = current;
    },
    up: (given) => observe((onOutput) => stack.up({ ...given, onOutput, onError: onOutput })),
    preview: (given) =>
      observe(async (onOutput) => {
        const { changeSummary } = await stack.preview({ ...given, onOutput, onError: onOutput });
        return { summary: { resourceChanges: changeSummary } };
      }),
    refresh: (given) => observe((onOutput) => stack.refresh({ ...given, onOutput, onError: onOutput })),
    destroy: (given) => observe((onOutput) => stack.destroy({ ...given, onOutput, onError: onOutput })),
    outputs: async () =>
      Object.fromEntries(
        Object.entries(await stack.outputs()).map(([key, { value }]) => [key, value as unknown]),
      ),
    exportedState: async () => {
      const { execa } = await import("execa");
      const { stdout } = await execa(engine.command, ["stack", "export", "--stack", name], {
        cwd: stack.workspace.workDir,
        env: stack.workspace.envVars,
        extendEnv: false,
      });
      return stdout;
    },
    printed: () => printed,
  };
}

/** The outcome of a command that must succeed; throws what it printed if it failed. */
export function requireSuccess(outcome: Outcome): Outcome {
  if (!outcome.ok) throw new Error(`the command failed:\n${outcome.output}`);
  return outcome;
}
