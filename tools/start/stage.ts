import { randomBytes } from "node:crypto";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startEmulator, type Emulator } from "pulumi-apichat/emulator";
import { createResponder, type Delivery } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { stringify } from "yaml";
import type { Engine } from "../engine/engine.ts";
import { engineEnvironment } from "../engine/environment.ts";
import { endLeftovers } from "./leftovers.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));

export const workspaceNames = ["acme", "globex", "initech"] as const;
export type WorkspaceName = (typeof workspaceNames)[number];

/** Everything that a run needs, on this machine alone. */
export interface Stage {
  /** A temporary folder: both programs, the file backend, and Pulumi's own files. */
  folder: string;
  emulator: Emulator;
  /** The webhook URL: an endpoint that answers handshakes and takes deliveries with any of the keys. */
  webhookUrl: string;
  /** What arrived there and had a good signature. */
  deliveries: Delivery[];
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
  const deliveries: Delivery[] = [];
  const onDelivery = (delivery: Delivery): void => void deliveries.push(delivery);
  const respond = createResponder({ verificationKeys: Object.values(keys), onDelivery });
  const receiver = createServer(toNodeListener(respond));
  let emulator: Emulator | undefined;
  try {
    const workspaces = workspaceNames.map((name) => ({ name, apiKey }));
    emulator = await startEmulator({ workspaces, flow: "menu" });
    await new Promise<void>((resolve, reject) => {
      receiver.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
    const webhookUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks/apichat`;
    const environment = await prepareFolder(engine, folder);
    await writeFile(join(folder, "workspaces/workspaces.yaml"), listWorkspaces(emulator, webhookUrl));
    await play({ folder, emulator, webhookUrl, deliveries, apiKey, keys, environment });
  } finally {
    receiver.close();
    receiver.closeAllConnections();
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

function newSecret(): string {
  return randomBytes(32).toString("hex");
}

function listWorkspaces(emulator: Emulator, webhookUrl: string): string {
  return stringify({
    webhookUrl,
    workspaces: workspaceNames.map((name) => ({ name, baseUrl: emulator.workspace(name).baseUrl })),
  });
}
