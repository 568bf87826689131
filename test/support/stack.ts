import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  LocalWorkspace,
  PulumiCommand,
  type EngineEvent,
  type PulumiFn,
  type Stack,
} from "@pulumi/pulumi/automation/index.js";
import { execa } from "execa";
import { engineEnvironment } from "../../tools/engine/environment.ts";
import { resolveEngine } from "../../tools/engine/resolve.ts";
import { fasterPulumi } from "./folder.ts";
import { afterTests } from "./http.ts";
import { endProcessesNaming } from "../../tools/lib/processes.ts";

/**
 * A folder that contains a file backend and a Pulumi home. After the last test of the test file, all
 * processes that name the folder are ended, and the folder is removed.
 */
export interface Backend {
  folder: string;
  environment: Record<string, string>;
}

export interface Outcome {
  /** stdout and stderr of the command. */
  output: string;
  /** The counts of the summary, such as { create: 1, same: 2 }. */
  changes: Record<string, number>;
  /** The engine's events. */
  events: EngineEvent[];
}

/** A resource in the state; each secret is an object with a ciphertext. */
interface StateResource {
  urn: string;
  id: string;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
  /** The reasons why the resource was created only in part. */
  initErrors?: string[];
}

export const engine = await resolveEngine();
const pulumiCommand = await PulumiCommand.get({ root: join(engine.directory, ".."), skipVersionCheck: true });

export async function createBackend(): Promise<Backend> {
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-test-"));
  const run = { home: join(folder, "home"), backend: folder, passphrase: "passphrase-of-the-tests" };
  afterTests(async () => {
    await endProcessesNaming(folder);
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  const environment = engineEnvironment(engine, run) as Record<string, string>;
  return { folder, environment: { ...environment, ...fasterPulumi } };
}

export type TestStack = Awaited<ReturnType<typeof createStack>>;

/**
 * A stack on the real engine, with an inline program. The engine and the provider are separate processes; the
 * program runs in the test's process. If a command fails, its call throws the output; `fails` returns it.
 */
export async function createStack(
  backend: Backend,
  options: {
    name?: string;
    program: PulumiFn;
    environment?: Record<string, string>;
    /** The folder of the resource plugin, for programs that declare its resources. */
    plugin?: string;
  },
) {
  const name = options.name ?? "dev";
  let program = options.program;
  let printed = "";
  // The Automation API does not remove its folders, but the backend's folder is removed after the tests.
  const workDir = await mkdtemp(join(backend.folder, "workspace-"));
  const stack = await LocalWorkspace.createStack(
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
        // The SDK's type lacks `packages`.
        ...(options.plugin === undefined ? {} : { packages: { apichat: options.plugin } }),
      },
    },
  );
  // By default, each command starts three more processes, which read the outputs and the history. The tests
  // do without these processes, because the engine's events contain enough.
  stack.outputs = async () => ({});
  stack.info = async () => ({}) as never;

  type Command = "up" | "preview" | "refresh" | "destroy";
  const command =
    <C extends Command>(which: C) =>
    async (given?: Parameters<Stack[C]>[0]): Promise<Outcome> => {
      let output = "";
      let changes = {};
      const events: EngineEvent[] = [];
      const onOutput = (text: string): void => {
        output += text;
        printed += text;
      };
      const onEvent = (event: EngineEvent): void => {
        events.push(event);
        if (event.summaryEvent) changes = event.summaryEvent.resourceChanges;
      };
      try {
        await stack[which]({ ...given, onOutput, onError: onOutput, onEvent });
        return { output, changes, events };
      } catch (error) {
        throw new Error(output || String(error), { cause: error });
      }
    };
  const commands = {
    up: command("up"),
    preview: command("preview"),
    refresh: command("refresh"),
    destroy: command("destroy"),
  };
  /** The state in the backend, with encrypted secrets. */
  const state = (): Promise<string> =>
    readFile(join(backend.folder, ".pulumi", "stacks", "test", `${name}.json`), "utf8");
  const resource = async (
    resourceName: string,
    type = "ApiChatWebhook",
  ): Promise<StateResource | undefined> => {
    const { checkpoint } = JSON.parse(await state()) as {
      checkpoint: { latest: { resources?: StateResource[] } };
    };
    return checkpoint.latest.resources?.find(({ urn }) => urn.endsWith(`${type}::${resourceName}`));
  };
  /** The stack's outputs in the state; each secret is an object with a ciphertext. */
  const outputs = async (): Promise<Record<string, unknown>> =>
    (await resource(`test-${name}`, "pulumi:pulumi:Stack"))?.outputs ?? {};
  /** The stack's outputs, with secrets in plain text. Unlike `outputs`, starts a process. */
  const secretOutputs = async (): Promise<Record<string, unknown>> => {
    const args = ["stack", "output", "--json", "--show-secrets", "--stack", name];
    const env = stack.workspace.envVars;
    const { stdout } = await execa(pulumiCommand.command, args, { cwd: workDir, env });
    return JSON.parse(stdout) as Record<string, unknown>;
  };

  return {
    /** The stack object of the Automation API, for everything that has no member here. */
    stack,
    ...commands,
    /** Changes the program that later commands run. */
    run: (next: PulumiFn): void => void (program = next),
    /** Runs a command that must fail, and returns the error's message, which contains the output. */
    fails: async (which: Command, given?: object): Promise<string> => {
      const failure: unknown = await commands[which](given).then(
        ({ output }) => new Error(`the command succeeded:\n${output}`),
        (error: Error) => error.message,
      );
      if (typeof failure === "string") return failure;
      throw failure;
    },
    outputs,
    secretOutputs,
    state,
    resource,
    /** The output of all commands so far. */
    printed: (): string => printed,
  };
}
