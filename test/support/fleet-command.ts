import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import type { ListedWorkspace } from "pulumi-apichat/fleet";
import { vi } from "vitest";
import { stackName, stackOf } from "../../dist/provider/fleet/placement.js";
import { API_KEY, VERIFICATION_KEY } from "./endpoint.ts";
import { afterTests } from "./http.ts";
import { killProcessesOf, processesOf, signalIfAlive, type ProcessInfo } from "./processes.ts";
import { webhookUrlOf, type Scene } from "./scene.ts";

/** A user's `fleet.ts` in a folder, run with node as a shell does. */
export interface FleetFolder {
  path: string;
  /** The stacks in their order. */
  stacks: readonly string[];
  /** The names of a stack's workspaces. */
  workspacesOf(stack: string): string[];
  /** Puts these URLs in the place of the usual ones in the list from the next command on. */
  list(webhookUrls?: Record<string, string>): Promise<void>;
  /** Starts a command without waiting for its end. */
  start(...parameters: string[]): FleetRun;
  run(...parameters: string[]): Promise<FleetOutcome>;
  /** Every process of a command that is alive: all that have its environment. */
  processes(): Promise<ProcessInfo[]>;
  /** kill -9 of all of them together. */
  killEverything(): Promise<void>;
  /** The lock files in the backend. */
  locks(): Promise<string[]>;
  /** The names of the stacks that have a state in the backend. */
  deployedStacks(): Promise<string[]>;
  /** What the state of a stack calls pending. */
  pendingOperations(stack: string): Promise<unknown[]>;
  /** Where a run notes what is done. */
  journal: string;
}

export interface FleetOutcome {
  exitCode: number | undefined;
  stdout: string;
  /** Both streams. */
  output: string;
}

/** A command under way. */
export interface FleetRun {
  done: Promise<FleetOutcome>;
  output(): string;
  /** Waits until something is so; throws what was printed if the command ends before. */
  until(isSo: () => boolean): Promise<void>;
  /** What one Ctrl-C does: SIGINT to the group of the command. */
  interrupt(): void;
  /** kill -9 of the command's own process, and of nothing else. */
  kill(): void;
}

const repository = fileURLToPath(new URL("../..", import.meta.url));
const FLEET = "held";
const PROJECT = "fleet-in-a-folder";

const COMMAND = (stacks: number): string => `import { runFleetCommand } from "pulumi-apichat/fleet";

await runFleetCommand({
  name: "${FLEET}",
  project: "${PROJECT}",
  stacks: ${stacks},
  workspaces: "workspaces.json",
  program: new URL("./program.ts", import.meta.url),
});
`;

const PROGRAM = `import { ApiChatWebhook } from "pulumi-apichat";
import type { FleetProgram } from "pulumi-apichat/fleet";

const program: FleetProgram = ({ workspaces }) =>
  Object.fromEntries(
    workspaces.map(({ name, baseUrl, webhookUrl = "" }) => [
      name,
      new ApiChatWebhook(name, {
        baseUrl,
        webhookUrl,
        webhookVerificationKey: process.env.WEBHOOK_KEY ?? "",
        timeouts: { readySeconds: 1 },
      }),
    ]),
  );

export default program;
`;

/** A fleet of the scene's workspaces on the scene's backend. All that its processes leave behind goes with the backend. */
export async function createFleetFolder(scene: Scene, stackCount: number): Promise<FleetFolder> {
  const path = join(scene.backend.folder, "fleet");
  const temporary = join(scene.backend.folder, "tmp");
  await Promise.all([path, temporary].map((folder) => mkdir(folder)));
  await symlink(join(repository, "node_modules"), join(path, "node_modules"));
  await writeFile(join(path, "package.json"), '{ "type": "module" }\n');
  await writeFile(join(path, "fleet.ts"), COMMAND(stackCount));
  await writeFile(join(path, "program.ts"), PROGRAM);
  const marker = { name: "APICHAT_TEST_RUN", value: path };
  const environment = {
    ...scene.backend.environment,
    TMPDIR: temporary,
    APICHAT_API_KEY: API_KEY,
    WEBHOOK_KEY: VERIFICATION_KEY,
    [marker.name]: marker.value,
  };
  afterTests(() => killProcessesOf(marker).catch(() => undefined));
  const names = [...scene.emulator.workspaces.keys()];
  const start = (...parameters: string[]): FleetRun =>
    startCommand(["fleet.ts", ...parameters], { cwd: path, environment });
  const state = join(scene.backend.folder, ".pulumi");
  const folder: FleetFolder = {
    path,
    stacks: Array.from({ length: stackCount }, (_, index) => stackName(FLEET, index, stackCount)),
    workspacesOf: (stack) =>
      names.filter((name) => stackName(FLEET, stackOf(name, stackCount), stackCount) === stack),
    list: async (webhookUrls = {}) => {
      const workspaces = names.map((name) => listWorkspace(scene, name, webhookUrls[name]));
      await writeFile(join(path, "workspaces.json"), JSON.stringify({ workspaces }));
    },
    start,
    run: (...parameters) => start(...parameters).done,
    processes: () => processesOf(marker),
    killEverything: () => vi.waitFor(() => killProcessesOf(marker), { timeout: 20_000, interval: 20 }),
    locks: async () => {
      const entries = await readdir(join(state, "locks"), { recursive: true });
      return entries.filter((entry) => entry.endsWith(".json"));
    },
    deployedStacks: async () => {
      const files = await readdir(join(state, "stacks", PROJECT));
      return files.filter((file) => file.endsWith(".json")).map((file) => file.slice(0, -".json".length));
    },
    pendingOperations: async (stack) => {
      const text = await readFile(join(state, "stacks", PROJECT, `${stack}.json`), "utf8");
      const { checkpoint } = JSON.parse(text) as {
        checkpoint: { latest: { pending_operations?: unknown[] } };
      };
      return checkpoint.latest.pending_operations ?? [];
    },
    journal: join(path, ".fleet", FLEET, "run.json"),
  };
  await folder.list();
  return folder;
}

function listWorkspace(scene: Scene, name: string, webhookUrl = webhookUrlOf(scene, name)): ListedWorkspace {
  return { name, baseUrl: scene.emulator.workspace(name).baseUrl, webhookUrl };
}

function startCommand(
  args: string[],
  { cwd, environment }: { cwd: string; environment: Record<string, string> },
): FleetRun {
  const child = execa(process.execPath, args, {
    cwd,
    env: environment,
    extendEnv: false,
    stdin: "ignore",
    all: true,
    reject: false,
    // A group of its own, as a shell gives to each command.
    detached: true,
  });
  let output = "";
  child.all.on("data", (chunk: Buffer) => void (output += chunk.toString("utf8")));
  const finish = async (): Promise<FleetOutcome> => {
    const { exitCode, stdout, all } = await child;
    return { exitCode, stdout, output: all };
  };
  const { pid = Number.NaN } = child;
  const done = finish();
  return {
    done,
    output: () => output,
    until: async (isSo) => {
      const over = new AbortController();
      const wait = vi.waitUntil(() => over.signal.aborted || isSo(), { timeout: 120_000, interval: 50 });
      const fail = async (): Promise<never> => {
        await done;
        over.abort();
        throw new Error(`the command has ended:\n${output}`);
      };
      await Promise.race([wait, fail()]);
    },
    interrupt: () => signalIfAlive(-pid, "SIGINT"),
    kill: () => signalIfAlive(pid, "SIGKILL"),
  };
}
