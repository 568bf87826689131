/** Measures a fleet, and one stack with all its workspaces. */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startEmulator } from "pulumi-apichat/emulator";
import { engineEnvironment } from "../engine/environment.ts";
import { resolveEngine } from "../engine/resolve.ts";
import { inClone } from "../lib/clone.ts";
import { listen } from "../lib/listen.ts";
import { endProcessesNaming, processesNaming } from "../lib/processes.ts";
import { run } from "../lib/run.ts";
import { timeOf, type Context, type Samples } from "./measure.ts";
import { responder, VERIFICATION_KEY } from "./servers.ts";

/** A test API key, valid nowhere. */
const API_KEY = "api-key-of-the-benchmark-0123456789abcdef";

/** A user's files: `index.js` declares the webhooks as one stack, `fleet.js` declares the same ones as a fleet. */
const FILES = {
  "package.json": '{ "type": "module", "main": "index.js" }',
  "Pulumi.yaml": "name: bench\nruntime: nodejs\n",
  "index.js": `import { ApiChatWebhook } from "pulumi-apichat";
import list from "./workspaces.json" with { type: "json" };
const webhookVerificationKey = "${VERIFICATION_KEY}";
for (const { name, ...args } of list.workspaces) new ApiChatWebhook(name, { ...args, webhookVerificationKey });`,
  "fleet.js": `import { runFleetCommand } from "pulumi-apichat/fleet";
const webhookVerificationKey = "${VERIFICATION_KEY}";
const webhook = ({ name, ...args }) => ({ ...args, webhookVerificationKey });
await runFleetCommand({ name: "bench", workspaces: "workspaces.json", webhook });`,
};

/** The commands, with their arguments for a fleet. */
const COMMANDS = { up: ["--yes", "--skip-plan"], refresh: [], destroy: ["--yes"] };
const ON_ONE_STACK = ["--yes", "--skip-preview", "--stack", "bench", "--non-interactive"];

/** Compares a fleet with one stack that writes checkpoints, and with one that does not. */
export async function compareSplits(context: Context): Promise<Samples> {
  return {
    ...(await measureSplit("fleet", context)),
    ...(await measureSplit("one stack", context)),
    ...(await measureSplit("without checkpoints", context, { PULUMI_SKIP_CHECKPOINTS: "true" })),
  };
}

/** Measures the time of each command and the peak memory for one split, with a new service and a new backend. */
async function measureSplit(
  split: string,
  { workspaces, signal, update }: Context,
  variables: Record<string, string> = {},
): Promise<Samples> {
  await using resources = new AsyncDisposableStack();
  const names = Array.from({ length: workspaces }, (_, index) => ({
    name: `workspace-${index}`,
    apiKey: API_KEY,
  }));
  const emulator = resources.adopt(await startEmulator({ workspaces: names }), (it) => it.close());
  const endpoint = resources.adopt(await listen(createServer(responder())), (it) => it.close());
  const service = [...emulator.workspaces.values()];
  const webhook = { apiKey: API_KEY, webhookUrl: endpoint.url };
  const listed = service.map(({ name, baseUrl }) => ({ name, baseUrl, ...webhook }));
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-bench-"));
  resources.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const [home, cwd] = [join(folder, "home"), join(folder, "program")];
  resources.defer(() => endProcessesNaming(folder));
  await mkdir(cwd);
  await symlink(inClone("node_modules"), join(cwd, "node_modules"));
  const files = { ...FILES, "workspaces.json": JSON.stringify({ workspaces: listed }) };
  for (const [name, text] of Object.entries(files)) await writeFile(join(cwd, name), text);
  const engine = await resolveEngine(signal);
  const env = { ...engineEnvironment(engine, { home, backend: folder, passphrase: "bench" }), ...variables };
  const onLine = (line: string): void => update(`${split}: ${line.trim().slice(0, 60)}`);
  // Allow 20 s after an interrupt: the engine finishes its calls and ends its plugins. A kill leaves them running.
  const options = { cwd, env, signal, graceMs: 20_000, onLine };
  if (split !== "fleet") await run("pulumi", ["stack", "init", "bench"], options);
  const samples: Samples = {};
  const peaks: number[] = [];
  for (const [command, args] of Object.entries(COMMANDS)) {
    const work = (): Promise<string> =>
      split === "fleet"
        ? run("node", ["fleet.js", command, ...args], options)
        : run("pulumi", [command, ...ON_ONE_STACK], options);
    peaks.push(await peakOf(folder, async () => (samples[`${split} ${command}`] = [await timeOf(work)])));
    const registered = service.filter(({ registration }) => registration).length;
    const expected = command === "destroy" ? 0 : workspaces;
    if (registered !== expected) throw new Error(`${registered} of ${expected} webhooks are registered`);
  }
  return { ...samples, [`${split} memory`]: [Math.max(...peaks)] };
}

/** Returns the peak memory (MiB) of processes whose arguments or environment contain this folder; 0 without /proc. */
async function peakOf(folder: string, work: () => Promise<unknown>): Promise<number> {
  const finished = new AbortController();
  let peak = 0;
  const sample = async (): Promise<void> => {
    while (!finished.signal.aborted) {
      const processes = await processesNaming(folder);
      const sizes = await Promise.all(processes.map(({ pid }) => memoryOf(pid)));
      const total = sizes.reduce((sum, size) => sum + size, 0);
      peak = Math.max(peak, total);
      await delay(1000);
    }
  };
  await Promise.all([work().finally(() => finished.abort()), sample()]);
  return peak;
}

/**
 * Reads the proportional set size of a process, in MiB. If smaps_rollup is missing, as in some sandboxes, reads
 * the resident size, which includes all shared memory.
 */
async function memoryOf(pid: number): Promise<number> {
  const files = ["smaps_rollup", "status"].map((file) =>
    readFile(`/proc/${pid}/${file}`, "utf8").catch(() => ""),
  );
  const [, kibibytes = 0] = /^(?:Pss|VmRSS):\s+(\d+) kB$/m.exec((await Promise.all(files)).join("\n")) ?? [];
  return Number(kibibytes) / 1024;
}
