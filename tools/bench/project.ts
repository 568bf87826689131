import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { engineEnvironment } from "../engine/environment.ts";
import { resolveEngine } from "../engine/resolve.ts";
import { CommandError, run } from "../setup/run.mjs";
import type { ServiceReport } from "./service.ts";
import { describeWebhooks } from "./settings.ts";

/** The sides of the rows on the engine: each is a program of this name in programs/. */
export type Side = "ours" | "noOp" | "plain" | "responder";

const PROGRAMS: Record<Side, URL> = {
  ours: new URL("programs/ours.mjs", import.meta.url),
  noOp: new URL("programs/no-op.mjs", import.meta.url),
  plain: new URL("programs/plain.mjs", import.meta.url),
  responder: new URL("programs/responder.mjs", import.meta.url),
};

/** The input that holds the source of a dynamic provider. */
export const PROVIDER = "__provider";

const nodeModules = fileURLToPath(new URL("../../node_modules", import.meta.url));

/** An interrupted engine finishes what it has begun and ends its plugins; killed earlier it would leave them behind. */
const GRACE_MS = 20_000;

/** A dynamic resource as the exported state has it. */
export interface StateResource {
  inputs: { [PROVIDER]: string };
}

/** A Pulumi project on a file backend of its own, driven with the CLI as a user does. */
export interface Project {
  /** Writes so many webhooks with this key into the program. */
  declare(webhooks: number, verificationKey?: string): Promise<void>;
  up(): Promise<void>;
  destroy(): Promise<void>;
  /** The dynamic resources of the exported state. */
  exportResources(): Promise<StateResource[]>;
  remove(): Promise<void>;
}

export async function createProject(
  side: Side,
  { service, signal }: { service: Pick<ServiceReport, "serviceUrl" | "endpointUrl">; signal: AbortSignal },
): Promise<Project> {
  const engine = await resolveEngine({ signal });
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-bench-"));
  const folders = { home: join(folder, "home"), backend: folder, passphrase: "bench" };
  // Responders keep their folders with the rest, and are started on CI machines too.
  const env = { ...engineEnvironment(engine, folders), XDG_STATE_HOME: join(folder, "state"), CI: "false" };
  const program = join(folder, "program");
  const pulumi = async (...parameters: string[]): Promise<void> => {
    const given = [...parameters, "--stack", "bench", "--non-interactive"];
    try {
      await run(engine.command, given, { cwd: program, env, signal, graceMs: GRACE_MS });
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      throw new Error(`pulumi ${parameters.join(" ")} of ${side}: ${error.message}\n${error.output}`, {
        cause: error,
      });
    }
  };
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  try {
    await writeProgram(program, PROGRAMS[side]);
    await pulumi("stack", "init");
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    declare: (webhooks, verificationKey) =>
      writeFile(
        join(program, "webhooks.json"),
        JSON.stringify(describeWebhooks(webhooks, service, verificationKey)),
      ),
    // Without the preview, which costs all sides the same and would only dilute the ratio.
    up: () => pulumi("up", "--yes", "--skip-preview"),
    destroy: () => pulumi("destroy", "--yes", "--skip-preview"),
    exportResources: async () => {
      const file = join(folder, "state.json");
      await pulumi("stack", "export", "--file", file);
      return readResources(await readFile(file, "utf8"));
    },
    remove,
  };
}

/** Makes a Pulumi project in a new folder, whose program is this module. */
export async function writeProgram(folder: string, program: URL): Promise<void> {
  await mkdir(folder);
  await symlink(nodeModules, join(folder, "node_modules"));
  await writeFile(join(folder, "Pulumi.yaml"), "name: bench\nruntime: nodejs\n");
  await writeFile(join(folder, "package.json"), '{ "type": "module", "main": "index.js" }\n');
  await writeFile(join(folder, "index.js"), `import ${JSON.stringify(program.href)};\n`);
}

function readResources(state: string): StateResource[] {
  const { deployment } = JSON.parse(state) as { deployment: { resources?: Partial<StateResource>[] } };
  const isDynamic = (resource: Partial<StateResource>): resource is StateResource =>
    resource.inputs?.[PROVIDER] !== undefined;
  return (deployment.resources ?? []).filter(isDynamic);
}
