import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { STACKS_AT_ONCE } from "../../dist/provider/fleet/options.js";
import { toYaml } from "../../dist/provider/fleet/yaml-program.js";
import { inClone } from "../lib/clone.ts";
import { endProcessesOf } from "../lib/processes.ts";
import { engineEnvironment } from "../engine/environment.ts";
import { resolveEngine } from "../engine/resolve.ts";
import { run } from "../lib/run.ts";
import { API_KEY, type ServiceReport, VERIFICATION_KEY, workspaceNames } from "./child.ts";

/** `yaml` is a program on the plugin; the others are functions of programs/programs.mjs. */
export type Side = "ours" | "noOp" | "yaml";

const programs = new URL("programs/programs.mjs", import.meta.url).href;

interface CommandOptions {
  environment?: Record<string, string>;
  onLine?: (line: string) => void;
}

/**
 * Creates a Pulumi project on its own file backend, used with the CLI as a user does. Disposing it ends its processes.
 */
export async function createProject(
  side: Side,
  { service, signal }: { service: Pick<ServiceReport, "serviceUrl" | "endpointUrl">; signal: AbortSignal },
) {
  const engine = await resolveEngine(signal);
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-bench-"));
  const home = join(folder, "home");
  /** A variable that only the processes of this project have in their environment. */
  const marker = { name: "PULUMI_HOME", value: home };
  await using unfinished = new AsyncDisposableStack();
  unfinished.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  unfinished.defer(() => endProcessesOf(marker));
  const env = engineEnvironment(engine, { home, backend: folder, passphrase: "bench" });
  const cwd = join(folder, "program");
  const execute = async (
    command: string,
    args: readonly string[],
    { environment, onLine }: CommandOptions = {},
  ): Promise<void> => {
    // An interrupted engine finishes its calls and ends its plugins; a killed one leaves them running.
    const options = { cwd, env: { ...env, ...environment }, signal, graceMs: 20_000 };
    await run(command, args, onLine ? { ...options, onLine } : options);
  };
  const pulumi = (args: readonly string[], options?: CommandOptions): Promise<void> =>
    execute(engine.command, [...args, "--stack", "bench", "--non-interactive"], options);
  await mkdir(cwd);
  await symlink(inClone("node_modules"), join(cwd, "node_modules"));
  const runtime =
    side === "yaml" ? { runtime: "yaml", packages: { apichat: inClone("plugin") } } : { runtime: "nodejs" };
  await writeFile(join(cwd, "Pulumi.yaml"), JSON.stringify({ name: "bench", ...runtime }));
  await writeFile(join(cwd, "package.json"), '{ "type": "module", "main": "index.js" }\n');
  const index = `import { ${side} } from ${JSON.stringify(programs)};\n${side}();\n`;
  await writeFile(join(cwd, "index.js"), index);
  await pulumi(["stack", "init"]);
  const resources = unfinished.move();
  return {
    marker,
    /** Declares this many webhooks. */
    declare: async (count: number): Promise<void> => {
      const webhooks = workspaceNames(count).map((name) => ({
        name,
        baseUrl: `${service.serviceUrl}/${name}/apichat`,
        apiKey: API_KEY,
        webhookUrl: `${service.endpointUrl}webhooks/apichat`,
        webhookVerificationKey: VERIFICATION_KEY,
      }));
      await writeFile(join(cwd, "webhooks.json"), JSON.stringify(webhooks));
      if (side !== "yaml") return;
      const program = toYaml(webhooks.map(({ name, ...args }) => [name, args] as const));
      await writeFile(join(cwd, "Main.json"), JSON.stringify(program, undefined, 1));
    },
    /** Skips the preview, which costs all sides the same and would only dilute the ratio. */
    pulumi: (command: "up" | "refresh" | "destroy", args: readonly string[] = [], options?: CommandOptions) =>
      pulumi([command, "--yes", "--skip-preview", ...args], options),
    /** Runs programs/fleet.ts in the folder of the project. */
    fleet: (args: readonly string[], options?: CommandOptions) =>
      execute(process.execPath, [inClone("tools/bench/programs/fleet.ts"), ...args], options),
    /** Previews stacks that the fleet has written to folders of their names, with the fleet's parallelism. */
    preview: async (stacks: readonly string[]): Promise<void> => {
      const waiting = [...stacks];
      const previewAll = async (): Promise<void> => {
        for (let stack = waiting.shift(); stack; stack = waiting.shift()) {
          const args = ["--refresh", "--stack", stack, "--non-interactive"];
          await execute(engine.command, ["preview", "--cwd", join(cwd, stack), ...args]);
        }
      };
      await Promise.all(Array.from({ length: STACKS_AT_ONCE }, previewAll));
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
