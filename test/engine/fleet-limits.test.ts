import type { RecordedRequest } from "pulumi-apichat/emulator";
import type { FleetReport } from "pulumi-apichat/fleet";
import { beforeAll, describe, expect, test } from "vitest";
import { createFleetFolder, type FleetFolder, type FleetOutcome } from "../support/fleet-command.ts";
import { startServer } from "../support/http.ts";
import { callsOf, openScene, registeredWorkspaces, type Scene } from "../support/scene.ts";

const names = Array.from({ length: 24 }, (_, index) => `workspace-${String(index + 1).padStart(2, "0")}`);
const up = ["up", "--skip-plan", "--yes", "--json"] as const;

let scene: Scene;
let fleet: FleetFolder;

const openTheFleet = async (): Promise<void> => {
  scene = await openScene(names);
  fleet = await createFleetFolder(scene, 4);
};

const run = async (...parameters: string[]): Promise<FleetOutcome & { report: FleetReport }> => {
  const outcome = await fleet.run(...parameters);
  expect(outcome.stdout, outcome.output).toMatch(/^\{/);
  return { ...outcome, report: JSON.parse(outcome.stdout) as FleetReport };
};

const stackNamed = (workspace = ""): string | undefined =>
  fleet.stacks.find((stack) => fleet.workspacesOf(stack).includes(workspace));

describe("4 stacks at once with 3 calls to the service at once", () => {
  const PAUSE_SECONDS = 6;
  let outcome: FleetOutcome & { report: FleetReport };

  beforeAll(async () => {
    await openTheFleet();
    const operation = "set-webhook" as const;
    scene.emulator.injectFault({
      operation,
      every: 8,
      times: 1,
      fault: { status: 429, retryAfterSeconds: PAUSE_SECONDS },
    });
    // So that more calls are wanted than are let through.
    scene.emulator.injectFault({ operation, every: 1, fault: { delayMs: 250 } });
    outcome = await run(...up, "--stacks-at-once", "4", "--calls-per-origin", "3");
  });

  test("the service never has more than 3 under way over all stacks, and often has 3", () => {
    expect(outcome.exitCode, outcome.output).toBe(0);
    expect(mostAtOnce(scene.emulator.requests)).toBe(3);
    expect(registeredWorkspaces(scene)).toEqual(names);
  });

  test("a 429 with Retry-After holds the calls of every stack back", () => {
    const { requests } = scene.emulator;
    const index = requests.findIndex(({ status }) => status === 429);
    const before = requests.slice(0, index + 1).map(({ workspace }) => stackNamed(workspace ?? ""));
    expect(new Set(before).size).toBeGreaterThan(1);
    // Those that were let through before the answer came may still have arrived.
    const starts = requests.slice(index, index + 6).map(({ at }) => Date.parse(at));
    const gaps = starts.slice(1).map((start, place) => start - (starts[place] ?? 0));
    expect(Math.max(...gaps)).toBeGreaterThan((PAUSE_SECONDS * 1000) / 2);
  });

  test("the report counts the calls that the service saw", () => {
    const { calls, answers429 } = outcome.report;
    expect(answers429).toBe(1);
    expect(calls).toEqual({
      "get-webhook": callsOf(scene, "get-webhook").length,
      "set-webhook": names.length + 1,
    });
    expect(callsOf(scene, "set-webhook")).toHaveLength(names.length + 1);
  });
});

/** How many calls were under way at once at most. */
function mostAtOnce(requests: readonly RecordedRequest[]): number {
  // The beginning is a whole millisecond, so one is left off the end: one call does not reach into the next.
  const edges = requests.flatMap(({ at, durationMs }) => [
    { at: Date.parse(at), step: 1 },
    { at: Date.parse(at) + Math.max(durationMs - 1, 0), step: -1 },
  ]);
  let underWay = 0;
  let most = 0;
  for (const { step } of edges.toSorted((a, b) => a.at - b.at || a.step - b.step)) {
    underWay += step;
    most = Math.max(most, underWay);
  }
  return most;
}

const expectNoLock = async (): Promise<void> => expect(await fleet.locks()).toEqual([]);

describe("a fleet that is stopped by its limits", () => {
  beforeAll(openTheFleet);

  test("--stop-after-failures 2 with 5 broken endpoints: no further stack is begun, what is under way is stored", async () => {
    const { url } = await startServer((_, response) => response.writeHead(404).end());
    const [first = "", ...others] = fleet.stacks;
    const broken = [
      ...fleet.workspacesOf(first).slice(0, 2),
      ...others.map((stack) => fleet.workspacesOf(stack)[0] ?? ""),
    ];
    expect(broken).toHaveLength(5);
    await fleet.list(Object.fromEntries(broken.map((name) => [name, `${url}/${name}`])));
    const { exitCode, report } = await run(...up, "--stop-after-failures", "2", "--stacks-at-once", "2");
    expect(exitCode).toBe(1);
    expect(report.outcome).toBe("stopped");
    expect(report.stoppedBy).toMatch(/--stop-after-failures.*up --resume/);
    expect(report.failures.length).toBeGreaterThanOrEqual(2);
    expect(report.failures.filter(({ workspace = "" }) => !broken.includes(workspace))).toEqual([]);
    expect(report.skipped.length).toBeGreaterThanOrEqual(1);
    expect(report.skipped.filter(({ why }) => why !== "stopped")).toEqual([]);
    // What the service has, the states have too.
    expect(registeredWorkspaces(scene)).not.toEqual([]);
    const { stdout } = await fleet.run("bot-urls", "--json");
    expect(Object.keys(JSON.parse(stdout) as object)).toEqual(registeredWorkspaces(scene));
    await expectNoLock();
  });

  test("--most-429 2: the run stops with the second answer, and says so", async () => {
    await fleet.list();
    scene.emulator.injectFault({
      operation: "set-webhook",
      every: 4,
      fault: { status: 429, retryAfterSeconds: 0 },
    });
    const before = registeredWorkspaces(scene).length;
    const { exitCode, report } = await run(...up, "--most-429", "2", "--stacks-at-once", "2");
    expect(exitCode).toBe(1);
    expect(report.outcome).toBe("stopped");
    expect(report.stoppedBy).toMatch(/--most-429.*up --resume/);
    expect(report.answers429).toBeGreaterThanOrEqual(2);
    expect(registeredWorkspaces(scene).length).toBeGreaterThan(before);
    expect(registeredWorkspaces(scene).length).toBeLessThan(names.length);
    await expectNoLock();
  });

  test("--resume then registers the rest, each once", async () => {
    scene.emulator.clearFaults();
    const { exitCode, output, report } = await run("up", "--resume", "--json", "--stacks-at-once", "2");
    expect(exitCode, output).toBe(0);
    expect(report).toMatchObject({ outcome: "done", failures: [] });
    expect(registeredWorkspaces(scene)).toEqual(names);
    const registrations = callsOf(scene, "set-webhook").filter(({ status }) => status === 200);
    const accepted = names.map((name) => registrations.filter(({ workspace }) => workspace === name).length);
    expect(Math.max(...accepted)).toBe(1);
  });

  test("destroy --yes removes every webhook and every stack", async () => {
    const { exitCode, output } = await fleet.run("destroy", "--yes", "--stacks-at-once", "2");
    expect(exitCode, output).toBe(0);
    expect(registeredWorkspaces(scene)).toEqual([]);
    await expectNoLock();
    expect(await fleet.deployedStacks()).toEqual([]);
  });
});
