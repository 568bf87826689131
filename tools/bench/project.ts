import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { endProcessesOf } from "../../test/support/processes.ts";
import { toYaml } from "../../dist/provider/fleet/yaml-program.js";
import { engineEnvironment } from "../engine/environment.ts";
import { resolveEngine } from "../engine/resolve.ts";
import { run } from "../lib/run.ts";
import { API_KEY, type ServiceReport, VERIFICATION_KEY, workspaceNames } from "./child.ts";

/** The sides of the rows on the engine: each is a function of this name in programs/programs.mjs, but `yaml`, which needs no program. */
export type Side = "ours" | "noOp" | "plain" | "responder" | "plugin" | "yaml";

/** The input that holds the source of a dynamic provider. */
export const PROVIDER = "__provider";

/** The plugin of this clone, where programs on it ask for it. */
export const pluginFolder = fileURLToPath(new URL("../../plugin", import.meta.url));
const nodeModules = fileURLToPath(new URL("../../node_modules", import.meta.url));
const fleetFile = fileURLToPath(new URL("programs/fleet.ts", import.meta.url));
const programs = new URL("programs/programs.mjs", import.meta.url).href;

/** An interrupted engine finishes what it has begun and ends its plugins; killed earlier it would leave them behind. */
const GRACE_MS = 20_000;

/** A webhook as the exported state has it. */
export interface StateResource {
  type: string;
  inputs: { [PROVIDER]: string };
}

interface CommandOptions {
  environment?: Record<string, string>;
  onLine?: (line: string) => void;
}

/** A Pulumi project on a file backend of its own, driven with the CLI as a user does. What still runs ends with it. */
export interface Project extends AsyncDisposable {
  /** A variable that every process of this project has in its environment, and no other. */
  marker: { name: string; value: string };
  /** Writes so many webhooks into the program, with this key, at this path of the endpoint. */
  declare(
    webhooks: number,
    options?: { verificationKey?: string; pathOf?: (name: string) => string },
  ): Promise<void>;
  /** `up`, `refresh` or `destroy`, without the preview, which costs all sides the same and would only dilute the ratio. */
  pulumi(command: "up" | "refresh" | "destroy", options?: CommandOptions): Promise<void>;
  /** Runs programs/fleet.ts with Node, in the folder of the project. */
  fleet(parameters: readonly string[], options?: CommandOptions): Promise<void>;
  /** The webhooks of the exported state. */
  exportResources(): Promise<StateResource[]>;
}

export async function createProject(
  side: Side,
  { service, signal }: { service: Pick<ServiceReport, "serviceUrl" | "endpointUrl">; signal: AbortSignal },
): Promise<Project> {
  const engine = await resolveEngine({ signal });
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-bench-"));
  const home = join(folder, "home");
  const marker = { name: "PULUMI_HOME", value: home };
  await using unfinished = new AsyncDisposableStack();
  unfinished.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  unfinished.defer(() => endProcessesOf(marker));
  // Responders keep their folders with the rest, and are started on CI machines too.
  const own = {
    XDG_STATE_HOME: join(folder, "state"),
    CI: "false",
    BENCH_VERIFICATION_KEY: VERIFICATION_KEY,
  };
  const env = { ...engineEnvironment(engine, { home, backend: folder, passphrase: "bench" }), ...own };
  const cwd = join(folder, "program");
  const execute = async (
    command: string,
    parameters: readonly string[],
    { environment, onLine }: CommandOptions = {},
  ): Promise<void> => {
    const options = { cwd, env: { ...env, ...environment }, signal, graceMs: GRACE_MS };
    await run(command, parameters, onLine ? { ...options, onLine } : options);
  };
  const pulumi = (parameters: readonly string[], options?: CommandOptions): Promise<void> =>
    execute(engine.command, [...parameters, "--stack", "bench", "--non-interactive"], options);
  await mkdir(cwd);
  await symlink(nodeModules, join(cwd, "node_modules"));
  const index = `import { ${side} } from ${JSON.stringify(programs)};\n${side}();\n`;
  const runtime = side === "yaml" ? "yaml" : "nodejs";
  const packages = { apichat: pluginFolder };
  const project = { name: "bench", runtime, ...(["plugin", "yaml"].includes(side) && { packages }) };
  await writeFile(join(cwd, "Pulumi.yaml"), JSON.stringify(project));
  await writeFile(join(cwd, "package.json"), '{ "type": "module", "main": "index.js" }\n');
  await writeFile(join(cwd, "index.js"), index);
  await pulumi(["stack", "init"]);
  const resources = unfinished.move();
  return {
    marker,
    declare: async (
      count,
      { verificationKey: webhookVerificationKey = VERIFICATION_KEY, pathOf = () => "webhooks/apichat" } = {},
    ) => {
      const webhooks = workspaceNames(count).map((name) => ({
        name,
        baseUrl: `${service.serviceUrl}/${name}/apichat`,
        apiKey: API_KEY,
        webhookUrl: `${service.endpointUrl}${pathOf(name)}`,
        webhookVerificationKey,
      }));
      await writeFile(join(cwd, "webhooks.json"), JSON.stringify(webhooks));
      if (side !== "yaml") return;
      const program = toYaml(Object.fromEntries(webhooks.map(({ name, ...args }) => [name, args])));
      await writeFile(join(cwd, "Main.json"), JSON.stringify(program, undefined, 1));
    },
    pulumi: (command, options) => pulumi([command, "--yes", "--skip-preview"], options),
    fleet: (parameters, options) => execute(process.execPath, [fleetFile, ...parameters], options),
    exportResources: async () => {
      const file = join(folder, "state.json");
      await pulumi(["stack", "export", "--file", file]);
      return readResources(await readFile(file, "utf8"));
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function readResources(state: string): StateResource[] {
  const { deployment } = JSON.parse(state) as { deployment: { resources?: Partial<StateResource>[] } };
  const isWebhook = (resource: Partial<StateResource>): resource is StateResource =>
    resource.type?.endsWith(":ApiChatWebhook") ?? false;
  return (deployment.resources ?? []).filter(isWebhook);
}
