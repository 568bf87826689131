import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { RecordedRequest } from "pulumi-apichat/emulator";
import type { DriftReport, FleetReport } from "pulumi-apichat/fleet";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFleetFolder, type FleetFolder, type FleetOutcome } from "../support/fleet-command.ts";
import { closeServers, listen } from "../support/node-server.ts";
import { callsOf, openScene, registeredWorkspaces, webhookUrlOf, type Scene } from "../support/scene.ts";

const names = Array.from({ length: 60 }, (_, index) => `workspace-${String(index + 1).padStart(2, "0")}`);
const up = ["up", "--skip-plan", "--yes", "--json"] as const;

let scene: Scene;
let fleet: FleetFolder;

const openFleetOf60 = async (): Promise<void> => {
  scene = await openScene(names);
  fleet = await createFleetFolder(scene, 4);
};
const closeFleet = async (): Promise<void> => {
  await fleet.killEverything();
  await scene.close();
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
    await openFleetOf60();
    const operation = "set-webhook" as const;
    scene.emulator.injectFault({
      operation,
      every: 20,
      times: 1,
      fault: { status: 429, retryAfterSeconds: PAUSE_SECONDS },
    });
    // So that more calls are wanted than are let through.
    scene.emulator.injectFault({ operation, every: 1, fault: { delayMs: 250 } });
    outcome = await run(...up, "--stacks-at-once", "4", "--calls-per-origin", "3");
  });
  afterAll(closeFleet);

  test("the service never has more than 3 under way over all stacks, and often has 3", () => {
    expect(outcome.exitCode, outcome.output).toBe(0);
    expect(mostAtOnce(scene.emulator.requests)).toBe(3);
    expect(registeredWorkspaces(scene)).toEqual(names);
  });

  test("a 429 with Retry-After holds the calls of every stack back", () => {
    const { requests } = scene.emulator;
    const index = requests.findIndex(({ status }) => status === 429);
    const before = requests.slice(0, index + 1).map(({ workspace }) => stackNamed(workspace));
    expect(new Set(before).size).toBeGreaterThan(1);
    // Those that were let through before the answer came may still have arrived.
    const starts = requests.slice(index, index + 6).map(({ at }) => at.getTime());
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
    { at: at.getTime(), step: 1 },
    { at: at.getTime() + Math.max(durationMs - 1, 0), step: -1 },
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

const watch = async (): Promise<FleetOutcome & { markdown: string; report: DriftReport }> => {
  const [markdownFile, jsonFile] = ["drift.md", "drift.json"].map((name) => join(fleet.path, name));
  const files = ["--markdown-file", markdownFile ?? "", "--json-file", jsonFile ?? ""];
  const outcome = await fleet.run("watch", "--stacks-at-once", "2", ...files);
  const markdown = await readFile(markdownFile ?? "", "utf8");
  const report = JSON.parse(await readFile(jsonFile ?? "", "utf8")) as DriftReport;
  return { ...outcome, markdown, report };
};

describe("a fleet that is stopped by its limits, watched and destroyed", () => {
  beforeAll(openFleetOf60);
  afterAll(async () => {
    await closeFleet();
    await closeServers();
  });

  test("--stop-after-failures 2 with 5 broken endpoints: no further stack is begun, what is under way is stored", async () => {
    const port = await listen((_, response) => response.writeHead(404).end());
    const [first = "", ...others] = fleet.stacks;
    const broken = [
      ...fleet.workspacesOf(first).slice(0, 2),
      ...others.map((stack) => fleet.workspacesOf(stack)[0] ?? ""),
    ];
    expect(broken).toHaveLength(5);
    await fleet.list(Object.fromEntries(broken.map((name) => [name, `http://127.0.0.1:${port}/${name}`])));
    const { exitCode, report } = await run(...up, "--stop-after-failures", "2", "--stacks-at-once", "2");
    expect(exitCode).toBe(1);
    expect(report.outcome).toBe("stopped");
    expect(report.stoppedBy).toMatch(/2 failures.*--stop-after-failures.*up --resume/);
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
    expect(report.stoppedBy).toMatch(/2 calls were answered with HTTP 429.*--most-429.*up --resume/);
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

  test("watch: exit code 0 without drift", async () => {
    const { exitCode, output, markdown, report } = await watch();
    expect(exitCode, output).toBe(0);
    expect(report).toMatchObject({
      outcome: "no-drift",
      checked: names.length,
      workspaces: [],
      failures: [],
    });
    expect(markdown).toContain("no drift");
  });

  test("watch: exit code 1 with drift, which both files name", async () => {
    const [changed = "", gone = ""] = names;
    const byHand = `${scene.endpoint.url}/by-hand`;
    scene.emulator.workspace(changed).change({ webhook_url: byHand });
    scene.emulator.workspace(gone).remove();
    const { exitCode, markdown, report } = await watch();
    expect(exitCode).toBe(1);
    expect(report).toMatchObject({ outcome: "drift", failures: [] });
    expect(report.workspaces.map(({ workspace, kind }) => [workspace, kind])).toEqual([
      [changed, "changed"],
      [gone, "gone"],
    ]);
    for (const text of [changed, gone, byHand]) expect(markdown).toContain(text);
  });

  test("watch: exit code 2 when the service refuses the API key of one workspace, drift or not", async () => {
    const workspace = names.at(-1) ?? "";
    scene.emulator.injectFault({ operation: "get-webhook", workspace, every: 1, fault: { status: 401 } });
    const { exitCode, markdown, report } = await watch();
    scene.emulator.clearFaults();
    expect(exitCode).toBe(2);
    expect(report.outcome).toBe("failed");
    expect(report.failures).toMatchObject([{ workspace, stack: stackNamed(workspace) }]);
    expect(markdown).toContain(workspace);
  });

  test("destroy without --yes and without a terminal is wrong use, and removes nothing", async () => {
    const before = registeredWorkspaces(scene);
    const { exitCode, output } = await fleet.run("destroy");
    expect(exitCode).toBe(2);
    expect(output).toContain("--yes");
    expect(registeredWorkspaces(scene)).toEqual(before);
  });

  test("destroy --yes removes every webhook and every stack", async () => {
    // A webhook that stands elsewhere is somebody's: destroy would leave it.
    const [changed = ""] = names;
    scene.emulator.workspace(changed).change({ webhook_url: webhookUrlOf(scene, changed) });
    const { exitCode, output } = await fleet.run("destroy", "--yes", "--stacks-at-once", "2");
    expect(exitCode, output).toBe(0);
    expect(registeredWorkspaces(scene)).toEqual([]);
    await expectNoLock();
    expect(await fleet.deployedStacks()).toEqual([]);
  });
});
