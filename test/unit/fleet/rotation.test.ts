import { describe, expect, it } from "vitest";
import type { FleetEvent } from "../../../provider/fleet/run-options.ts";
import { rotateFleet } from "../../../provider/fleet/rotation.ts";
import { upFleet } from "../../../provider/fleet/up.ts";
import { CHANGED, FakeKeys } from "./fake-keys.ts";
import { listOf, NAMES, namesIn, openDeployed, stackAt, type TestFleet } from "./harness.ts";

/** A fleet of four stacks that is deployed, and the keys of its workspaces. */
async function open(): Promise<{ fleet: TestFleet; keys: FakeKeys }> {
  const fleet = await openDeployed();
  const keys = new FakeKeys();
  keys.play(fleet.workers);
  return { fleet, keys };
}

const tasksOf = ({ workers }: TestFleet): string[] =>
  workers.begun.splice(0).map(({ stack, action }) => `${action} ${stack}`);
const stacksAt = (...indexes: number[]): string[] => indexes.map(stackAt);
const sizeOf = (fleet: TestFleet, ...indexes: number[]): number =>
  indexes.flatMap((index) => namesIn(fleet, index)).length;

const options = { rotation: "2026-12", waveSize: 2, stacksAtOnce: 2 };

describe("the rotation of a fleet, on a fake of the worker processes", () => {
  it("rotates one stack alone and then waves, and verifies each wave with a refresh and without the rotation", async () => {
    const { fleet, keys } = await open();

    const report = await rotateFleet(fleet.context, { ...options, onEvent: fleet.onEvent });

    expect(report).toMatchObject({ action: "rotate", rotation: "2026-12", outcome: "done", failures: [] });
    expect(report.waves).toMatchObject([
      { stacks: stacksAt(0), outcome: "done", rotated: sizeOf(fleet, 0) },
      { stacks: stacksAt(1, 2), outcome: "done", rotated: sizeOf(fleet, 1, 2) },
      { stacks: stacksAt(3), outcome: "done", rotated: sizeOf(fleet, 3) },
    ]);
    const [up, preview] = fleet.workers.begun;
    expect(up).toMatchObject({ action: "up", rotation: "2026-12", refresh: false });
    expect(preview).toMatchObject({ action: "preview", refresh: true, expectNoChanges: true });
    expect(preview).not.toHaveProperty("rotation");
    expect(tasksOf(fleet)).toEqual(
      [[0], [1, 2], [3]].flatMap((wave) =>
        ["up", "preview"].flatMap((action) => wave.map((index) => `${action} ${stackAt(index)}`)),
      ),
    );
    expect(report.keys).toEqual({ new: NAMES.toSorted(), old: [], unsure: [] });
    expect([...keys.rotationOf.values()]).toEqual(NAMES.map(() => "2026-12"));
    expect(report).not.toHaveProperty("note");
    const wave = { wave: 2, waves: 3 };
    expect(fleet.events).toEqual(
      expect.arrayContaining([
        { type: "run-started", action: "rotate", stacks: 4, workspaces: NAMES.length },
        { type: "wave-started", ...wave, stacks: stacksAt(1, 2) },
        { type: "wave-ended", ...wave, outcome: "done" },
      ]),
    );
  });

  it("stops after a wave in which one up fails, says who has which key, and resumes without what is verified", async () => {
    const { fleet, keys } = await open();
    const [broken = ""] = namesIn(fleet, 1);
    keys.broken.add(broken);

    const failed = await rotateFleet(fleet.context, options);

    expect(failed).toMatchObject({
      outcome: "failed",
      failures: [{ workspace: broken, stack: stackAt(1) }],
      skipped: [{ stack: stackAt(3), why: "stopped" }],
      stoppedBy: expect.stringMatching(/^wave 2 of 3 failed.*rotate --resume$/),
      keys: { old: namesIn(fleet, 3).toSorted(), unsure: [broken] },
    });
    expect(failed.waves.map(({ outcome }) => outcome)).toEqual(["done", "failed", "stopped"]);
    expect(failed.keys.new).toHaveLength(NAMES.length - sizeOf(fleet, 3) - 1);
    expect(tasksOf(fleet).filter((task) => task.endsWith(stackAt(3)))).toEqual([]);

    keys.broken.clear();
    const report = await rotateFleet(fleet.context, { ...options, rotation: undefined, resume: true });

    expect(report).toMatchObject({
      outcome: "done",
      rotation: "2026-12",
      skipped: [{ stack: stackAt(0), workspaces: sizeOf(fleet, 0), why: "done-before" }],
      waves: [
        { stacks: stacksAt(1, 2), rotated: 1 },
        { stacks: stacksAt(3), rotated: sizeOf(fleet, 3) },
      ],
      keys: { new: NAMES.toSorted() },
    });
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
  ])("stops after the first stack where the service is found to have %s", async (_, spoil, message) => {
    const { fleet, keys } = await open();
    const [name = ""] = namesIn(fleet, 0);
    spoil(keys, name);

    const report = await rotateFleet(fleet.context, { ...options, onEvent: fleet.onEvent });

    expect(report.outcome).toBe("failed");
    expect(report.failures).toEqual([
      { workspace: name, stack: stackAt(0), message: expect.stringMatching(message) },
    ]);
    expect(fleet.events.filter(({ type }) => type === "failure")).toHaveLength(1);
    expect(report.waves.map(({ outcome }) => outcome)).toEqual(["failed", "stopped", "stopped"]);
    expect(report.keys.new).toEqual(namesIn(fleet, 0).toSorted());
    expect(report.keys.old).toHaveLength(NAMES.length - sizeOf(fleet, 0));
  });

  it("says that a program does not pass the rotation on, before it touches a second stack", async () => {
    const { fleet, keys } = await open();
    keys.passesRotation = false;

    const report = await rotateFleet(fleet.context, options);

    expect(report.failures.map(({ workspace }) => workspace)).toEqual(namesIn(fleet, 0));
    expect(report.failures[0]?.message).toContain("rotation: stack.rotation");
    expect(tasksOf(fleet)).toEqual([`up ${stackAt(0)}`]);
    expect(report.keys.new).toEqual([]);
  });

  it("refuses another rotation while one did not end, and begins it after an up", async () => {
    const { fleet, keys } = await open();
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

  it("names a rotation without a name after the day, and says that nothing changes when it is given again", async () => {
    const { fleet } = await open();
    const { rotation } = await rotateFleet(fleet.context, {});
    expect(rotation).toMatch(/^\d{4}-\d\d-\d\d$/);

    const report = await rotateFleet(fleet.context, { ...options, rotation });

    expect(report).toMatchObject({ outcome: "done", note: expect.stringContaining("nothing was changed") });
    expect(report.waves.map(({ rotated }) => rotated)).toEqual([0, 0, 0]);
  });

  it("ends after what is in progress when it is interrupted, and names no wave as failed", async () => {
    const { fleet } = await open();
    const interrupt = new AbortController();
    const onEvent = ({ type }: FleetEvent): void => {
      if (type === "wave-ended") interrupt.abort();
    };

    const report = await rotateFleet(fleet.context, { ...options, onEvent, signal: interrupt.signal });

    expect(report).toMatchObject({
      outcome: "stopped",
      stoppedBy: expect.stringContaining("rotate --resume"),
    });
    expect(report.waves.map(({ outcome }) => outcome)).toEqual(["done", "stopped", "stopped"]);
    expect(report.keys.unsure).toEqual([]);
    expect(report.keys.old).toHaveLength(NAMES.length - sizeOf(fleet, 0));
  });

  it.each([
    ["a workspace that is not deployed", [...NAMES, "new"], "new is in the list, but not deployed yet"],
    ["a workspace that left the list", NAMES.slice(1), "w0 is not in the list any more"],
  ])("refuses to run over %s", async (_, names, message) => {
    const { fleet } = await open();
    const changed = await fleet.reopen({ workspaces: listOf(names) });

    await expect(rotateFleet(changed.context, options)).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining(message),
    });
    expect(tasksOf(fleet)).toEqual([]);
  });
});
