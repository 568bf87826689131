import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  LocalWorkspace,
  PulumiCommand,
  type ConfigMap,
  type EngineEvent,
  type PulumiFn,
  type Stack,
} from "@pulumi/pulumi/automation/index.js";
import { execa } from "execa";
import { engineEnvironment } from "../../tools/engine/environment.ts";
import { resolveEngine } from "../../tools/engine/resolve.ts";
import { afterTests } from "./http.ts";
import { endProcessesNaming } from "../../tools/lib/processes.ts";

/** A folder with the file backend of a test file's stacks and a Pulumi home of its own; it goes with all that runs in it. */
export interface Backend {
  folder: string;
  environment: Record<string, string>;
}

export interface Outcome {
  /** Both streams of the command. */
  output: string;
  /** The counts of the summary, such as { create: 1, same: 2 }. */
  changes: Record<string, number>;
  /** What the engine reported. */
  events: EngineEvent[];
}

/** A resource in the state; its secrets are objects that hold a ciphertext. */
interface StateResource {
  urn: string;
  id: string;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
  /** Why it is only partly done. */
  initErrors?: string[];
}

/** Of what Node loads: compiled once, a program or a provider takes half the time to load. */
export const compileCache = fileURLToPath(
  new URL("../../node_modules/.cache/compiled-for-tests", import.meta.url),
);

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
  // Each command loads the provider and the program. The types of programs are checked by `npm run check`.
  const faster = { NODE_COMPILE_CACHE: compileCache, PULUMI_NODEJS_TRANSPILE_ONLY: "true" };
  return { folder, environment: { ...environment, ...faster } };
}

export type TestStack = Awaited<ReturnType<typeof createStack>>;

/**
 * A stack on the real engine with an inline program. The engine and the provider are processes of their own; only the
 * program runs here. Every command throws what it printed if it fails, unless it is called through `fails`.
 */
export async function createStack(
  backend: Backend,
  options: {
    name?: string;
    program: PulumiFn;
    config?: ConfigMap;
    environment?: Record<string, string>;
    /** The folder of the resource plugin, for programs that declare its resources. */
    plugin?: string;
  },
) {
  const name = options.name ?? "dev";
  let program = options.program;
  let printed = "";
  // Within the backend's folder, so that it goes with it: by itself the Automation API leaves its folders behind.
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
        // Not in the SDK's type.
        ...(options.plugin === undefined ? {} : { packages: { apichat: options.plugin } }),
      },
    },
  );
  if (options.config) await stack.setAllConfig(options.config);
  // Each command asks for outputs and history afterwards, with three more processes; the events have what is wanted.
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
  /** The state as the backend holds it, secrets encrypted. */
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
  /** As the state has them: each secret an object with a ciphertext. */
  const outputs = async (): Promise<Record<string, unknown>> =>
    (await resource(`test-${name}`, "pulumi:pulumi:Stack"))?.outputs ?? {};
  /** With the secrets in clear. It takes a process, which the state's own outputs do not. */
  const secretOutputs = async (): Promise<Record<string, unknown>> => {
    const args = ["stack", "output", "--json", "--show-secrets", "--stack", name];
    const env = stack.workspace.envVars;
    const { stdout } = await execa(pulumiCommand.command, args, { cwd: workDir, env });
    return JSON.parse(stdout) as Record<string, unknown>;
  };

  return {
    /** The stack of the Automation API, for whatever has no shorter form here. */
    stack,
    ...commands,
    /** Runs another program from the next command on. */
    run: (next: PulumiFn): void => void (program = next),
    /** Changes the environment of the engine and the provider from the next command on; undefined removes a variable. */
    setEnvironment: (variables: Record<string, string | undefined>): void => {
      const changed = Object.entries({ ...stack.workspace.envVars, ...variables });
      stack.workspace.envVars = Object.fromEntries(
        changed.filter((entry): entry is [string, string] => entry[1] !== undefined),
      );
    },
    /** Runs a command that must fail, and gives what it printed, and the error. */
    fails: async (which: Command, given?: object): Promise<string> => {
      const failure: unknown = await commands[which](given).then(
        ({ output }) => new Error(`it succeeded:\n${output}`),
        (error: Error) => error.message,
      );
      if (typeof failure === "string") return failure;
      throw failure;
    },
    outputs,
    secretOutputs,
    state,
    resource,
    /** Everything that every command printed so far. */
    printed: (): string => printed,
  };
}
