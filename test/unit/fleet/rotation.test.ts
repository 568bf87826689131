import { describe, expect, it } from "vitest";
import type { ProgramTask } from "../../../provider/fleet/engine/task.ts";
import type { FleetEvent } from "../../../provider/fleet/run-options.ts";
import { rotateFleet } from "../../../provider/fleet/rotation.ts";
import { upFleet } from "../../../provider/fleet/up.ts";
import { CHANGED, FakeKeys } from "./fake-keys.ts";
import { listOf, NAMES, namesIn, openTestFleet, stackAt, type TestFleet } from "./harness.ts";

/** A fleet of four stacks that is deployed, and the keys of its workspaces. */
async function openDeployed(): Promise<{ fleet: TestFleet; keys: FakeKeys }> {
  const fleet = await openTestFleet();
  await upFleet(fleet.context, {});
  fleet.workers.begun.length = 0;
  const keys = new FakeKeys();
  keys.play(fleet.workers);
  return { fleet, keys };
}

const tasksOf = (fleet: TestFleet): ProgramTask[] => fleet.workers.begun.splice(0) as ProgramTask[];

const eventsOf = (fleet: TestFleet, type: FleetEvent["type"]): FleetEvent[] =>
  fleet.events.filter((event) => event.type === type);

const options = { rotation: "2026-12", waveSize: 2, stacksAtOnce: 2 };

describe("the rotation of a fleet, on a fake of the worker processes", () => {
  it("rotates one stack alone and then waves, and looks at each wave before the next", async () => {
    const { fleet, keys } = await openDeployed();

    const report = await rotateFleet(fleet.context, options);

    expect(report).toMatchObject({ action: "rotate", rotation: "2026-12", outcome: "done", failures: [] });
    expect(report.waves.map(({ stacks, outcome }) => [stacks, outcome])).toEqual([
      [[stackAt(0)], "done"],
      [[stackAt(1), stackAt(2)], "done"],
      [[stackAt(3)], "done"],
    ]);
    expect(tasksOf(fleet).map(({ stack, action }) => `${action} ${stack}`)).toEqual(
      [[0], [1, 2], [3]].flatMap((wave) =>
        ["up", "preview"].flatMap((action) => wave.map((index) => `${action} ${stackAt(index)}`)),
      ),
    );
    expect(report.waves.map(({ rotated }) => rotated)).toEqual([
      namesIn(fleet, 0).length,
      namesIn(fleet, 1).length + namesIn(fleet, 2).length,
      namesIn(fleet, 3).length,
    ]);
    expect(report.keys).toEqual({ new: NAMES.toSorted(), old: [], unsure: [] });
    expect([...keys.rotationOf.values()]).toEqual(NAMES.map(() => "2026-12"));
    expect(report).not.toHaveProperty("note");
  });

  it("rotates without a refresh, and verifies with one and without the rotation", async () => {
    const { fleet } = await openDeployed();

    await rotateFleet(fleet.context, options);

    const [up, preview] = tasksOf(fleet);
    expect(up).toMatchObject({ action: "up", rotation: "2026-12", refresh: false });
    expect(preview).toMatchObject({ action: "preview", refresh: true, expectNoChanges: true });
    expect(preview).not.toHaveProperty("rotation");
  });

  it("tells of each wave as it begins and ends", async () => {
    const { fleet } = await openDeployed();

    await rotateFleet(fleet.context, { ...options, onEvent: fleet.onEvent });

    expect(eventsOf(fleet, "run-started")).toEqual([
      { type: "run-started", action: "rotate", stacks: 4, workspaces: NAMES.length },
    ]);
    expect(eventsOf(fleet, "wave-started").at(1)).toEqual({
      type: "wave-started",
      wave: 2,
      waves: 3,
      stacks: [stackAt(1), stackAt(2)],
    });
    expect(eventsOf(fleet, "wave-ended").at(-1)).toEqual({
      type: "wave-ended",
      wave: 3,
      waves: 3,
      outcome: "done",
    });
  });

  it("stops after a wave in which one up fails, and says who has which key", async () => {
    const { fleet, keys } = await openDeployed();
    const [broken = ""] = namesIn(fleet, 1);
    keys.broken.add(broken);

    const report = await rotateFleet(fleet.context, options);

    expect(report).toMatchObject({
      outcome: "failed",
      failures: [{ workspace: broken, stack: stackAt(1) }],
      skipped: [{ stack: stackAt(3), why: "stopped" }],
      stoppedBy: expect.stringMatching(/^wave 2 of 3 failed.*rotate --resume$/),
    });
    expect(report.waves.map(({ outcome }) => outcome)).toEqual(["done", "failed", "stopped"]);
    expect(tasksOf(fleet).some(({ stack }) => stack === stackAt(3))).toBe(false);
    expect(report.keys.old).toEqual(namesIn(fleet, 3).toSorted());
    expect(report.keys.unsure).toEqual([broken]);
    expect(report.keys.new).toHaveLength(NAMES.length - namesIn(fleet, 3).length - 1);
  });

  it.each([
    [
      "drift",
      (keys: FakeKeys, name: string) => void keys.driftOf.set(name, CHANGED),
      /shows something else.*webhookUrl/,
    ],
    [
      "a status",
      (keys: FakeKeys, name: string) => void keys.statusOf.set(name, "failed"),
      /status is "failed"/,
    ],
  ])("stops after the first stack where the look at the service finds %s", async (_, spoil, message) => {
    const { fleet, keys } = await openDeployed();
    const [name = ""] = namesIn(fleet, 0);
    spoil(keys, name);

    const report = await rotateFleet(fleet.context, { ...options, onEvent: fleet.onEvent });

    expect(report.outcome).toBe("failed");
    expect(report.failures).toEqual([
      { workspace: name, stack: stackAt(0), message: expect.stringMatching(message) },
    ]);
    expect(eventsOf(fleet, "failure")).toHaveLength(1);
    expect(report.waves.map(({ outcome }) => outcome)).toEqual(["failed", "stopped", "stopped"]);
    expect(report.keys.new).toEqual(namesIn(fleet, 0).toSorted());
    expect(report.keys.old).toHaveLength(NAMES.length - namesIn(fleet, 0).length);
  });

  it("says that a program does not pass the rotation on, before it touches a second stack", async () => {
    const { fleet, keys } = await openDeployed();
    keys.passesRotation = false;

    const report = await rotateFleet(fleet.context, options);

    expect(report.failures.map(({ workspace }) => workspace)).toEqual(namesIn(fleet, 0));
    expect(report.failures[0]?.message).toContain("rotation: stack.rotation");
    expect(tasksOf(fleet).map(({ stack }) => stack)).toEqual([stackAt(0)]);
    expect(report.keys.new).toEqual([]);
  });

  it("goes on with the rotation that failed, and does not touch what is verified", async () => {
    const { fleet, keys } = await openDeployed();
    const [broken = ""] = namesIn(fleet, 1);
    keys.broken.add(broken);
    await rotateFleet(fleet.context, options);
    keys.broken.clear();
    tasksOf(fleet);

    const report = await rotateFleet(fleet.context, { ...options, rotation: undefined, resume: true });

    expect(report).toMatchObject({ outcome: "done", rotation: "2026-12" });
    expect(report.skipped).toEqual([
      { stack: stackAt(0), workspaces: namesIn(fleet, 0).length, why: "done-before" },
    ]);
    expect(report.waves.map(({ stacks, rotated }) => [stacks, rotated])).toEqual([
      [[stackAt(1), stackAt(2)], 1],
      [[stackAt(3)], namesIn(fleet, 3).length],
    ]);
    expect(report.keys.new).toEqual(NAMES.toSorted());
  });

  it("refuses another rotation while one did not end, and begins it after an up", async () => {
    const { fleet, keys } = await openDeployed();
    keys.broken.add(namesIn(fleet, 0)[0] ?? "");
    await rotateFleet(fleet.context, options);
    keys.broken.clear();
    tasksOf(fleet);

    await expect(rotateFleet(fleet.context, { rotation: "2027-01" })).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining('"2026-12" did not end'),
    });
    expect(tasksOf(fleet)).toEqual([]);

    await upFleet(fleet.context, {});
    expect(await rotateFleet(fleet.context, { rotation: "2027-01" })).toMatchObject({ outcome: "done" });
  });

  it("says that nothing was changed when the same rotation is given again", async () => {
    const { fleet } = await openDeployed();
    await rotateFleet(fleet.context, options);

    const report = await rotateFleet(fleet.context, options);

    expect(report).toMatchObject({ outcome: "done", note: expect.stringContaining("nothing was changed") });
    expect(report.waves.map(({ rotated }) => rotated)).toEqual([0, 0, 0]);
  });

  it("ends after what is under way when it is interrupted, and names no wave as failed", async () => {
    const { fleet } = await openDeployed();
    const interrupt = new AbortController();
    const onEvent = (event: FleetEvent): void => {
      if (event.type === "wave-ended") interrupt.abort();
    };

    const report = await rotateFleet(fleet.context, { ...options, onEvent, signal: interrupt.signal });

    expect(report).toMatchObject({
      outcome: "stopped",
      stoppedBy: expect.stringContaining("rotate --resume"),
    });
    expect(report.waves.map(({ outcome }) => outcome)).toEqual(["done", "stopped", "stopped"]);
    expect(report.keys.unsure).toEqual([]);
    expect(report.keys.old).toHaveLength(NAMES.length - namesIn(fleet, 0).length);
  });

  it("names a rotation without a name after the day", async () => {
    const { fleet } = await openDeployed();

    const { rotation } = await rotateFleet(fleet.context, {});

    expect(rotation).toMatch(/^\d{4}-\d\d-\d\d$/);
  });

  it.each([
    ["a workspace that is not deployed", [...NAMES, "new"], "new is in the list, but not deployed yet"],
    ["a workspace that left the list", NAMES.slice(1), "w0 is not in the list any more"],
  ])("refuses to run over %s", async (_, names, message) => {
    const { fleet } = await openDeployed();
    const changed = await fleet.reopen({ workspaces: listOf(names) });

    await expect(rotateFleet(changed.context, options)).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining(message),
    });
    expect(tasksOf(fleet)).toEqual([]);
  });
});
