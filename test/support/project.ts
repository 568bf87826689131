import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import type { ApiChatWebhookArgs } from "pulumi-apichat";
import { vi } from "vitest";
import { resolveEngine } from "../../tools/engine/resolve.ts";
import { afterTests } from "./http.ts";
import { killProcessesOf, processesOf, type ProcessInfo } from "./processes.ts";
import { argsOf, type Declaration, type Scene } from "./scene.ts";

/** A program in a folder, run with the CLI as a user does: engine, language host, program and provider are processes. */
export interface Project {
  /** Declares these webhooks from the next command on. */
  declare(declarations: readonly (string | Declaration)[]): Promise<void>;
  /** Starts a command without waiting for its end. */
  start(...parameters: string[]): Run;
  /** Runs a command that must succeed, and gives what it printed. */
  run(...parameters: string[]): Promise<string>;
  /** The same of a command that must fail. */
  fails(...parameters: string[]): Promise<string>;
  /** The state as the engine has written it so far, also while a command is in progress. */
  state(): Promise<string>;
  /** Everything that every command printed so far. */
  printed(): string;
}

/** A command in progress. */
export interface Run {
  /** Whether it succeeded. */
  done: Promise<boolean>;
  output(): string;
  /** Every process of the run that is alive: all that have its environment. */
  processes(): Promise<ProcessInfo[]>;
  /** What one Ctrl-C does: SIGINT to the group of the CLI. */
  interrupt(): void;
  /** kill -9 of the engine alone. */
  killEngine(): void;
  /** kill -9 of engine, language host, program and provider together. */
  killEverything(): Promise<void>;
}

const PROGRAM = `import { readFileSync } from "node:fs";
import { ApiChatWebhook } from "pulumi-apichat";

const declarations = JSON.parse(readFileSync("webhooks.json", "utf8"));
for (const { name, args, options } of declarations) new ApiChatWebhook(name, args, options);
`;

/** A project with the stack `dev` on the scene's backend, in its folder; every command gets these variables too. */
export async function createProject(
  scene: Scene,
  environment: Record<string, string> = {},
): Promise<Project> {
  const folder = join(scene.backend.folder, "project");
  const engine = await resolveEngine();
  const marker = { name: "APICHAT_TEST_RUN", value: folder };
  const env = { ...scene.backend.environment, ...environment, [marker.name]: marker.value };
  await mkdir(folder);
  await symlink(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, "Pulumi.yaml"), "name: killed\nruntime: nodejs\n");
  await writeFile(join(folder, "package.json"), '{ "type": "module", "main": "index.js" }\n');
  await writeFile(join(folder, "index.js"), PROGRAM);
  afterTests(() => killProcessesOf(marker).catch(() => undefined));
  let printed = "";

  const start = (...parameters: string[]): Run => {
    const child = execa(engine.command, [...parameters, "--non-interactive"], {
      cwd: folder,
      env,
      extendEnv: false,
      all: true,
      reject: false,
      // A group of its own, as a shell gives to each command.
      detached: true,
    });
    let output = "";
    child.all.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
      printed += chunk.toString("utf8");
    });
    const finish = async (): Promise<boolean> => !(await child).failed;
    const pid = child.pid ?? Number.NaN;
    return {
      done: finish(),
      output: () => output,
      processes: () => processesOf(marker),
      interrupt: () => process.kill(-pid, "SIGINT"),
      killEngine: () => process.kill(pid, "SIGKILL"),
      killEverything: () => vi.waitFor(() => killProcessesOf(marker), { timeout: 20_000, interval: 20 }),
    };
  };
  const finishWith = async (expected: boolean, parameters: string[]): Promise<string> => {
    const run = start(...parameters);
    if ((await run.done) !== expected) throw new Error(`${parameters.join(" ")}:\n${run.output()}`);
    return run.output();
  };
  const run = (...parameters: string[]): Promise<string> => finishWith(true, parameters);
  await run("stack", "init", "dev");

  return {
    declare: async (declarations) => {
      const declared = declarations.map((given) => describeWebhook(scene, given));
      await writeFile(join(folder, "webhooks.json"), JSON.stringify(declared));
    },
    start,
    run,
    fails: (...parameters) => finishWith(false, parameters),
    state: () => readFile(join(scene.backend.folder, ".pulumi", "stacks", "killed", "dev.json"), "utf8"),
    printed: () => printed,
  };
}

function describeWebhook(
  scene: Scene,
  given: string | Declaration,
): { name: string; args: ApiChatWebhookArgs; options: Declaration["options"] } {
  const declaration = typeof given === "string" ? { workspace: given } : given;
  const { name = declaration.workspace, options } = declaration;
  return { name, args: argsOf(scene, declaration), options };
}
