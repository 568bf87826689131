import { randomBytes } from "node:crypto";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmulator } from "pulumi-apichat/emulator";
import { createResponder, type Delivery } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { stringify } from "yaml";
import { endProcessesNaming } from "../lib/processes.ts";
import type { Engine } from "../engine/engine.ts";
import { engineEnvironment } from "../engine/environment.ts";
import { inClone } from "../lib/clone.ts";
import { listen } from "../lib/listen.ts";

export const NAMES = ["acme", "globex", "initech"] as const;
export type Name = (typeof NAMES)[number];

const newSecret = (): string => randomBytes(32).toString("hex");

/** Everything that a run needs. All of it is on this machine, and is removed at the end. */
export type Stage = Awaited<ReturnType<typeof setStage>>;

export async function setStage(engine: Engine) {
  const apiKey = newSecret();
  const keys: Record<Name, string> = { acme: newSecret(), globex: newSecret(), initech: newSecret() };
  await using resources = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-start-"));
  const temporary = join(folder, "tmp");
  resources.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  resources.defer(() => endProcessesNaming(folder));
  const deliveries: Delivery[] = [];
  const responder = createResponder({
    verificationKeys: Object.values(keys),
    onDelivery: (delivery) => void deliveries.push(delivery),
  });
  const endpoint = resources.adopt(await listen(createServer(toNodeListener(responder))), (it) => it.close());
  const workspaces = NAMES.map((name) => ({ name, apiKey }));
  const emulator = resources.adopt(await startEmulator({ workspaces, flow: "menu" }), (it) => it.close());
  const webhookUrl = `${endpoint.url}/webhooks/apichat`;

  const [backend, home] = [join(folder, "backend"), join(folder, "home")];
  for (const path of [backend, home, temporary]) await mkdir(path);
  for (const example of ["workspaces", "consumer"]) {
    await cp(inClone(`examples/${example}`), join(folder, example), {
      recursive: true,
      // Omits packages and stack settings of a developer who has used the example.
      filter: (source) => !/(?:^|\/)(?:node_modules|Pulumi\.[^/]+\.yaml)$/.test(source),
    });
  }
  await symlink(inClone("node_modules"), join(folder, "node_modules"));
  const listed = NAMES.map((name) => ({ name, baseUrl: emulator.workspace(name).baseUrl }));
  await writeFile(join(folder, "workspaces/workspaces.yaml"), stringify({ webhookUrl, workspaces: listed }));
  /** All environment variables of `pulumi`. It runs the programs without type checks: `npm run check` does those. */
  const environment: NodeJS.ProcessEnv = {
    ...engineEnvironment(engine, { backend, home, passphrase: "start" }),
    TMPDIR: temporary,
    PULUMI_NODEJS_TRANSPILE_ONLY: "true",
  };
  const taken = resources.move();
  const ending = { [Symbol.asyncDispose]: () => taken.disposeAsync() };
  return { folder, emulator, webhookUrl, deliveries, apiKey, keys, environment, ...ending };
}
