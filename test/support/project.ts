import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import type { ApiChatWebhookArgs } from "pulumi-apichat";
import { vi } from "vitest";
import { resolveEngine } from "../../tools/engine/resolve.ts";
import { killProcessesOf, processesOf, type ProcessInfo } from "./processes.ts";
import { argsOf, type Declaration, type Scene } from "./scene.ts";
import { type Outcome } from "./stack.ts";

/** A program in a folder, run with the CLI as a user does: engine, language host, program and provider are processes. */
export interface Project {
  /** Declares these webhooks from the next command on. */
  declare(declarations: readonly (string | Declaration)[]): Promise<void>;
  /** Starts a command without waiting for its end. */
  start(...parameters: string[]): Run;
  run(...parameters: string[]): Promise<Outcome>;
  exportedState(): Promise<string>;
  /** The state as the engine has written it so far, also while a command is under way. */
  checkpoint(): Promise<string>;
  /** Everything that every command printed so far. */
  printed(): string;
  remove(): Promise<void>;
}

/** A command under way. */
export interface Run {
  done: Promise<Outcome>;
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

/** A project with the stack `dev` on the scene's backend; every command gets these variables too. */
export async function createProject(
  scene: Scene,
  environment: Record<string, string> = {},
): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-project-"));
  const engine = await resolveEngine();
  const marker = { name: "APICHAT_TEST_RUN", value: folder };
  const env = { ...scene.backend.environment, ...environment, [marker.name]: marker.value };
  await symlink(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, "Pulumi.yaml"), "name: killed\nruntime: nodejs\n");
  await writeFile(join(folder, "package.json"), '{ "type": "module", "main": "index.js" }\n');
  await writeFile(join(folder, "index.js"), PROGRAM);
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
    });
    const finish = async (): Promise<Outcome> => {
      const { failed } = await child;
      printed += output;
      return { ok: !failed, output, changes: {} };
    };
    const pid = child.pid ?? Number.NaN;
    return {
      done: finish(),
      output: () => output,
      processes: () => processesOf(marker),
      interrupt: () => process.kill(-pid, "SIGINT"),
      killEngine: () => process.kill(pid, "SIGKILL"),
      killEverything: () => vi.waitFor(() => killProcessesOf(marker), { timeout: 10_000, interval: 20 }),
    };
  };
  const run = (...parameters: string[]): Promise<Outcome> => start(...parameters).done;
  const created = await run("stack", "init", "dev");
  if (!created.ok) throw new Error(created.output);

  return {
    declare: async (declarations) => {
      const declared = declarations.map((given) => describeWebhook(scene, given));
      await writeFile(join(folder, "webhooks.json"), JSON.stringify(declared));
    },
    start,
    run,
    exportedState: async () => (await run("stack", "export")).output,
    checkpoint: () => readFile(join(scene.backend.folder, ".pulumi", "stacks", "killed", "dev.json"), "utf8"),
    printed: () => printed,
    remove: async () => {
      await killProcessesOf(marker).catch(() => undefined);
      await rm(folder, { recursive: true, force: true });
    },
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
