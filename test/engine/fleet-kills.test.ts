import { existsSync } from "node:fs";
import type { FleetReport } from "pulumi-apichat/fleet";
import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  createFleetFolder,
  type FleetFolder,
  type FleetOutcome,
  type FleetRun,
} from "../support/fleet-command.ts";
import { callsOf, openScene, registeredWorkspaces, type Scene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";

const HOUR_MS = 3_600_000;
const PATIENT = { timeout: 120_000, interval: 50 };

const names = Array.from({ length: 24 }, (_, index) => `workspace-${String(index + 1).padStart(2, "0")}`);
const up = ["up", "--skip-plan", "--yes", "--stacks-at-once", "2"] as const;
const resume = ["up", "--resume", "--json", "--stacks-at-once", "2"] as const;

describe("up of 24 workspaces in 3 stacks that ends while set-webhook calls are on their way", () => {
  let scene: Scene;
  let fleet: FleetFolder;
  let printed = "";

  beforeEach(async () => {
    scene = await openScene(names);
    fleet = await createFleetFolder(scene, 3);
    printed = "";
  });
  /** The stack whose calls are held: it begins when one of the first two is done. */
  const heldStack = (): string => fleet.stacks[2] ?? "";

  /** Starts an up, and waits until one stack is done and the service holds calls of another. */
  const startHeld = async (delayMs: number): Promise<FleetRun> => {
    for (const [index, workspace] of fleet.workspacesOf(heldStack()).entries()) {
      // Of half of them the service has made the change before it stops.
      const fault = { delayMs, afterChange: index % 2 === 0 };
      scene.emulator.injectFault({ operation: "set-webhook", workspace, fault });
    }
    const run = fleet.start(...up);
    await run.until(() => run.output().includes(": done in") && heldCalls().length >= 2);
    return run;
  };

  const heldCalls = () =>
    callsOf(scene, "set-webhook").filter(({ fault, status }) => fault && status === undefined);

  const countSets = (name: string): number => callsOf(scene, "set-webhook", name).length;

  const untilNoProcess = (): Promise<boolean> =>
    vi.waitUntil(async () => (await fleet.processes()).length === 0, PATIENT);

  const end = async (run: FleetRun): Promise<FleetOutcome> => {
    const outcome = await run.done;
    printed += outcome.output;
    return outcome;
  };

  const doneIn = (output: string): string[] =>
    fleet.stacks.filter((stack) => new RegExp(`^${stack}: done in`, "m").test(output));

  /** Runs `up --resume`, which must do all that is left. */
  const resumeAll = async (): Promise<FleetReport> => {
    scene.emulator.clearFaults();
    const outcome = await end(fleet.start(...resume));
    expect(outcome.exitCode, outcome.output).toBe(0);
    expect(registeredWorkspaces(scene)).toEqual(names);
    expect(existsSync(fleet.journal)).toBe(false);
    expect(await fleet.locks()).toEqual([]);
    const pending = await Promise.all(fleet.stacks.map((stack) => fleet.pendingOperations(stack)));
    expect(pending).toEqual(fleet.stacks.map(() => []));
    return JSON.parse(outcome.stdout) as FleetReport;
  };

  const expectNoDrift = async (): Promise<void> => {
    const before = callsOf(scene, "set-webhook").length;
    const watched = await end(fleet.start("watch", "--stacks-at-once", "2"));
    expect(watched.exitCode, watched.output).toBe(0);
    expect(callsOf(scene, "set-webhook")).toHaveLength(before);
    const { stdout } = await end(fleet.start("bot-urls", "--json"));
    expect(JSON.parse(stdout)).toEqual(
      Object.fromEntries(names.map((name) => [name, scene.emulator.workspace(name).registration?.bot_url])),
    );
    expect(findSecrets(printed, [API_KEY, VERIFICATION_KEY])).toEqual([]);
  };

  test("Ctrl-C: what is under way is stored, and --resume does the rest and nothing again", async () => {
    const run = await startHeld(3000);
    run.interrupt();
    const { exitCode, stdout } = await end(run);
    expect(exitCode).toBe(130);
    expect(stdout).toContain("Fleet held, up: stopped");
    expect(stdout).toContain("up --resume");
    expect(await fleet.locks()).toEqual([]);
    expect(await fleet.processes()).toEqual([]);
    expect(existsSync(fleet.journal)).toBe(true);
    const done = doneIn(run.output());
    expect(done.length).toBeGreaterThan(0);

    const report = await resumeAll();
    const skipped = report.skipped.map(({ stack, why }) => ({ stack, why }));
    expect(skipped).toEqual(done.map((stack) => ({ stack, why: "done-before" })));
    expect(names.filter((name) => countSets(name) !== 1)).toEqual([]);
    await expectNoDrift();
  });

  test("kill -9 of everything: --resume removes the locks, adopts what the service has done, and does the rest", async () => {
    const run = await startHeld(HOUR_MS);
    await fleet.killEverything();
    await end(run);
    expect(await fleet.locks()).not.toEqual([]);
    const done = doneIn(run.output());
    const registeredBefore = new Map(
      names.map((name) => [name, scene.emulator.workspace(name).registration?.bot_url]),
    );
    const adopted = names.filter((name) => registeredBefore.get(name) !== undefined);

    const report = await resumeAll();
    expect(report.skipped.map(({ stack }) => stack)).toEqual(expect.arrayContaining(done));
    // What stands there is not registered once more.
    expect(adopted.filter((name) => countSets(name) !== 1)).toEqual([]);
    expect(names.filter((name) => countSets(name) > 2)).toEqual([]);
    expect(
      adopted.filter(
        (name) => scene.emulator.workspace(name).registration?.bot_url !== registeredBefore.get(name),
      ),
    ).toEqual([]);
    await expectNoDrift();
  });

  test("kill -9 of the command alone: its workers and engines end by themselves, and --resume goes on", async () => {
    const run = await startHeld(3000);
    run.kill();
    await end(run);
    await untilNoProcess();
    expect(await fleet.locks()).toEqual([]);
    await resumeAll();
    expect(names.filter((name) => countSets(name) !== 1)).toEqual([]);
  });
});
