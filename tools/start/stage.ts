import { randomBytes } from "node:crypto";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startEmulator, type Emulator } from "pulumi-apichat/emulator";
import { stringify } from "yaml";
import type { Engine } from "../engine/engine.ts";
import { engineEnvironment } from "../engine/environment.ts";
import { endLeftovers } from "./leftovers.ts";
import { startReceiver, type Receiver } from "./receiver.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));

export const workspaceNames = ["acme", "globex", "initech"] as const;
export type WorkspaceName = (typeof workspaceNames)[number];

/** Everything that a run needs, on this machine alone. */
export interface Stage {
  /** A temporary folder: both programs, the file backend, and Pulumi's own files. */
  folder: string;
  emulator: Emulator;
  receiver: Receiver;
  apiKey: string;
  keys: Record<WorkspaceName, string>;
  /** The whole environment of `pulumi`. */
  environment: NodeJS.ProcessEnv;
}

/** Sets the stage, lets `play` use it, and takes everything away again, whatever happens. */
export async function withStage(engine: Engine, play: (stage: Stage) => Promise<void>): Promise<void> {
  const apiKey = newSecret();
  const keys = { acme: newSecret(), globex: newSecret(), initech: newSecret() };
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-start-"));
  let emulator: Emulator | undefined;
  let receiver: Receiver | undefined;
  try {
    const workspaces = workspaceNames.map((name) => ({ name, apiKey }));
    emulator = await startEmulator({ workspaces, flow: "menu" });
    receiver = await startReceiver(Object.values(keys));
    const environment = await prepareFolder(engine, folder);
    await writeFile(join(folder, "workspaces/workspaces.yaml"), listWorkspaces(emulator, receiver));
    await play({ folder, emulator, receiver, apiKey, keys, environment });
  } finally {
    await receiver?.close();
    await emulator?.close();
    await endLeftovers(`TMPDIR=${temporaryFolder(folder)}`);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Copies the examples; one link serves both with the repository's packages. */
async function prepareFolder(engine: Engine, folder: string): Promise<NodeJS.ProcessEnv> {
  const backend = join(folder, "backend");
  const home = join(folder, "home");
  const temporary = temporaryFolder(folder);
  for (const path of [backend, home, temporary]) await mkdir(path);
  for (const example of ["workspaces", "consumer"]) {
    await cp(join(repository, "examples", example), join(folder, example), {
      recursive: true,
      // What a developer left there: packages, and the settings of own stacks.
      filter: (source) => !/(?:^|\/)(?:node_modules|Pulumi\.[^/]+\.yaml)$/.test(source),
    });
  }
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
  return {
    ...engineEnvironment(engine, { backend, home, passphrase: "start" }),
    TMPDIR: temporary,
    // Saves a second for each run of a program; the tests check the types of the examples.
    PULUMI_NODEJS_TRANSPILE_ONLY: "true",
  };
}

/** Only the processes of this run have it as TMPDIR; a person who looks around has not. */
function temporaryFolder(folder: string): string {
  return join(folder, "tmp");
}

function listWorkspaces(emulator: Emulator, receiver: Receiver): string {
  return stringify({
    webhookUrl: receiver.url,
    workspaces: workspaceNames.map((name) => ({ name, baseUrl: emulator.workspace(name).baseUrl })),
  });
}

function newSecret(): string {
  return randomBytes(32).toString("hex");
}
