import { randomBytes } from "node:crypto";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startEmulator, type Emulator } from "pulumi-apichat/emulator";
import { stringify } from "yaml";
import { startEndpoint, type Endpoint } from "../../test/support/endpoint.ts";
import { endProcessesOf } from "../../test/support/processes.ts";
import type { Engine } from "../engine/engine.ts";
import { engineEnvironment } from "../engine/environment.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));

export const workspaceNames = ["acme", "globex", "initech"] as const;
export type WorkspaceName = (typeof workspaceNames)[number];

/** Everything that a run needs, on this machine alone. All of it goes away again, whatever happens. */
export interface Stage extends AsyncDisposable {
  /** A temporary folder: both programs, the file backend, and Pulumi's own files. */
  folder: string;
  emulator: Emulator;
  /** The webhook URL: an endpoint that answers handshakes and takes deliveries with any of the keys. */
  webhookUrl: string;
  /** What arrived there and had a good signature. */
  deliveries: Endpoint["deliveries"];
  apiKey: string;
  keys: Record<WorkspaceName, string>;
  /** The whole environment of `pulumi`. */
  environment: NodeJS.ProcessEnv;
}

export async function setStage(engine: Engine): Promise<Stage> {
  const apiKey = newSecret();
  const keys = { acme: newSecret(), globex: newSecret(), initech: newSecret() };
  await using resources = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-start-"));
  // Only the processes of this run have it as TMPDIR; a person who looks around has not.
  const temporary = join(folder, "tmp");
  resources.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  resources.defer(() => endProcessesOf({ name: "TMPDIR", value: temporary }));
  const endpoint = resources.adopt(await startEndpoint({ keys: Object.values(keys) }), (it) => it.close());
  const workspaces = workspaceNames.map((name) => ({ name, apiKey }));
  const emulator = resources.adopt(await startEmulator({ workspaces, flow: "menu" }), (it) => it.close());
  const webhookUrl = `${endpoint.url}/webhooks/apichat`;

  const [backend, home] = [join(folder, "backend"), join(folder, "home")];
  for (const path of [backend, home, temporary]) await mkdir(path);
  for (const example of ["workspaces", "consumer"]) {
    await cp(join(repository, "examples", example), join(folder, example), {
      recursive: true,
      // What a developer left there: packages, and the settings of own stacks.
      filter: (source) => !/(?:^|\/)(?:node_modules|Pulumi\.[^/]+\.yaml)$/.test(source),
    });
  }
  // One link serves both with the repository's packages.
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
  const listed = workspaceNames.map((name) => ({ name, baseUrl: emulator.workspace(name).baseUrl }));
  await writeFile(join(folder, "workspaces/workspaces.yaml"), stringify({ webhookUrl, workspaces: listed }));
  const environment = {
    ...engineEnvironment(engine, { backend, home, passphrase: "start" }),
    TMPDIR: temporary,
    // Saves a second for each run of a program; the tests check the types of the examples.
    PULUMI_NODEJS_TRANSPILE_ONLY: "true",
  };
  const taken = resources.move();
  const { deliveries } = endpoint;
  const ending = { [Symbol.asyncDispose]: () => taken.disposeAsync() };
  return { folder, emulator, webhookUrl, deliveries, apiKey, keys, environment, ...ending };
}

function newSecret(): string {
  return randomBytes(32).toString("hex");
}
