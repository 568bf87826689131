import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FleetReport } from "pulumi-apichat/fleet";
import { beforeAll, describe, expect, test } from "vitest";
import { stackName, stackOf } from "../../dist/provider/fleet/placement.js";
import { commandsIn, type Command } from "../support/command.ts";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { callsOf, openScene, registeredWorkspaces, webhookUrlOf, type Scene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

const up = ["up", "--stacks-at-once", "2"] as const;
const names = Array.from({ length: 12 }, (_, index) => `workspace-${String(index + 1).padStart(2, "0")}`);
const STACKS = [0, 1, 2].map((index) => stackName("held", index, 3));
/** The last stack: it begins when one of the first two is done. */
const HELD = names.filter((name) => stackOf(name, 3) === 2);
const HOUR_MS = 3_600_000;

const FILES = {
  "package.json": '{ "type": "module" }\n',
  "fleet.ts": `import { runFleetCommand } from "pulumi-apichat/fleet";

await runFleetCommand({
  name: "held",
  project: "fleet-in-a-folder",
  stacks: 3,
  workspaces: "workspaces.json",
  program: new URL("./program.ts", import.meta.url),
});
`,
  "program.ts": `import { ApiChatWebhook } from "pulumi-apichat";
import type { FleetProgram } from "pulumi-apichat/fleet";

const program: FleetProgram = ({ workspaces }) =>
  Object.fromEntries(
    workspaces.map(({ name, baseUrl, webhookUrl = "" }) => [
      name,
      new ApiChatWebhook(name, { baseUrl, webhookUrl, webhookVerificationKey: process.env.WEBHOOK_KEY ?? "" }),
    ]),
  );

export default program;
`,
};

const isHeld = ({ status, fault }: { status?: number | undefined; fault: string }): boolean =>
  status === undefined && fault !== "";

const doneIn = (command: Command): string[] =>
  STACKS.filter((stack) => new RegExp(`^${stack}: done in`, "m").test(command.output()));

describe("a user's fleet.ts, whose runs end in the middle", () => {
  let scene: Scene;
  let folder: string;
  let startCommand: (...parameters: string[]) => Command;
  const commands: Command[] = [];

  beforeAll(async () => {
    scene = await openScene(names);
    folder = join(scene.backend.folder, "fleet");
    const temporary = join(scene.backend.folder, "tmp");
    await Promise.all([folder, temporary].map((path) => mkdir(path)));
    await symlink(
      fileURLToPath(new URL("../../node_modules", import.meta.url)),
      join(folder, "node_modules"),
    );
    const workspaces = names.map((name) => ({
      name,
      baseUrl: scene.emulator.workspace(name).baseUrl,
      webhookUrl: webhookUrlOf(scene, name),
    }));
    const files = { ...FILES, "workspaces.json": JSON.stringify({ workspaces }) };
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const start = commandsIn(folder, {
      ...scene.backend.environment,
      TMPDIR: temporary,
      APICHAT_API_KEY: API_KEY,
      WEBHOOK_KEY: VERIFICATION_KEY,
    });
    startCommand = (...parameters) => {
      const command = start(process.execPath, "fleet.ts", ...parameters);
      commands.push(command);
      return command;
    };
  });

  const run = async (expectedExitCode: number, ...parameters: string[]): Promise<string> => {
    const { exitCode, output, stdout } = await startCommand(...parameters).done;
    expect(exitCode, output).toBe(expectedExitCode);
    return stdout;
  };

  /** Starts a run, and waits until one stack is done and the service holds calls of the last one. */
  const startHeld = async (delayMs: number, ...parameters: string[]): Promise<Command> => {
    const before = callsOf(scene, "set-webhook").length;
    for (const [index, workspace] of HELD.entries()) {
      // Of half of them the service has made the change before it stops.
      const fault = { delayMs, afterChange: index % 2 === 0 };
      scene.emulator.injectFault({ operation: "set-webhook", workspace, fault });
    }
    const command = startCommand(...up, ...parameters);
    await command.until(
      () =>
        command.output().includes(": done in") &&
        callsOf(scene, "set-webhook").slice(before).filter(isHeld).length >= 2,
    );
    return command;
  };

  const setsOf = (name: string) => callsOf(scene, "set-webhook", name);
  const backend = (...path: string[]): string => join(scene.backend.folder, ".pulumi", ...path);
  const locks = async (): Promise<string[]> =>
    (await readdir(backend("locks"), { recursive: true })).filter((entry) => entry.endsWith(".json"));
  const states = async (): Promise<string[]> =>
    (await readdir(backend("stacks", "fleet-in-a-folder"))).filter((file) => file.endsWith(".json"));

  /** Runs `up` again, which must do all that is left. */
  const finish = async (...parameters: string[]): Promise<FleetReport> => {
    scene.emulator.clearFaults();
    const report = JSON.parse(await run(0, ...up, ...parameters, "--json")) as FleetReport;
    expect(report).toMatchObject({ outcome: "done", failures: [] });
    expect(registeredWorkspaces(scene)).toEqual(names);
    expect(await locks()).toEqual([]);
    for (const file of await states()) {
      const text = await readFile(backend("stacks", "fleet-in-a-folder", file), "utf8");
      expect(text, "pending operations").not.toMatch(/"pending_operations": \[\s*\{/);
    }
    return report;
  };

  test("Ctrl-C: what is in progress is stored, and --only-failed does the rest and nothing again", async () => {
    const command = await startHeld(3000, "--skip-plan", "--yes");
    command.interrupt();
    const { exitCode, stdout } = await command.done;
    expect(exitCode).toBe(130);
    expect(stdout).toContain("Fleet held, up: stopped");
    expect(stdout).toContain("up --only-failed");
    expect(await locks()).toEqual([]);
    expect(await command.processes()).toEqual([]);

    const { skipped } = await finish("--only-failed");
    expect(skipped.map(({ stack }) => stack)).toEqual(expect.arrayContaining(doneIn(command)));
    expect(new Set(skipped.map(({ why }) => why))).toEqual(new Set(["not-failed"]));
    const accepted = names.map((name) => setsOf(name).filter(({ status }) => status === 200).length);
    expect(accepted).toEqual(names.map(() => 1));
  });

  test("destroy --yes removes every webhook and every stack", async () => {
    await run(0, "destroy", "--yes");
    expect(registeredWorkspaces(scene)).toEqual([]);
    expect(await locks()).toEqual([]);
    expect(await states()).toEqual([]);
  });

  test("kill -9 of everything: the lock's owner is named, and after pulumi cancel up adopts what the service has done, and does the rest", async () => {
    const setsBefore = new Map(names.map((name) => [name, setsOf(name).length]));
    const command = await startHeld(HOUR_MS, "--skip-plan", "--yes");
    await command.killEverything();
    await command.done;
    expect(await locks()).not.toEqual([]);
    const adopted = registeredWorkspaces(scene);

    scene.emulator.clearFaults();
    const locked = await run(1, ...up, "--skip-plan", "--yes");
    const [, cancel = ""] = /(pulumi cancel --stack \S+)/.exec(locked) ?? [];
    expect(cancel).not.toBe("");
    for (const file of await locks()) await rm(backend("locks", file));
    await finish("--skip-plan", "--yes");
    const setsNow = (name: string): number => setsOf(name).length - (setsBefore.get(name) ?? 0);
    // What is registered there is not registered once more.
    expect(adopted.filter((name) => setsNow(name) !== 1)).toEqual([]);
    expect(names.filter((name) => setsNow(name) > 2)).toEqual([]);
    expect(JSON.parse(await run(0, "bot-urls", "--json"))).toEqual(
      Object.fromEntries(names.map((name) => [name, scene.emulator.workspace(name).botUrl])),
    );
    const printed = commands.map((one) => one.output()).join("\n");
    expect(findSecrets(printed, [API_KEY, VERIFICATION_KEY])).toEqual([]);
  });
});
