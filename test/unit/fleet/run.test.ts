import { describe, expect, it } from "vitest";
import { destroyFleet, upFleet } from "../../../provider/fleet/changes.ts";
import type { FleetReport } from "../../../provider/fleet/reports.ts";
import { failureOf } from "../client/harness.ts";
import {
  botUrlOf,
  botUrlsOf,
  failing,
  listOf,
  NAMES,
  namesIn,
  openDeployed,
  openTestFleet,
  stackAt,
  untilStopped,
  type Script,
  type TestFleet,
} from "./harness.ts";

const outcomesOf = ({ stacks }: FleetReport): string[] => stacks.map(({ outcome }) => outcome);

it("a run processes as many stacks at once as allowed, and divides the concurrent calls among them", async () => {
  const { context, engine } = await openTestFleet();
  const two = Promise.withResolvers<void>();
  const waitForTwo: Script = async () => {
    if (engine.mostAtOnce === 2) two.resolve();
    await two.promise;
    return {};
  };
  for (const index of [0, 1, 2, 3]) engine.scripts.set(stackAt(index), waitForTwo);

  const report = await upFleet(context, { stacksAtOnce: 2, callsPerOrigin: 7 });

  expect(report.stacks.map(({ stack }) => stack)).toEqual([0, 1, 2, 3].map(stackAt));
  expect(engine.mostAtOnce).toBe(2);
  // Each stack may make at least one call at a time; a stack that runs alone may make all of them.
  await upFleet(context, { stacksAtOnce: 4, callsPerOrigin: 2 });
  await upFleet(context, { stacksAtOnce: 1, callsPerOrigin: 2 });
  const shares = engine.takeTasks().map(({ callsPerOrigin }) => callsPerOrigin);
  expect(shares).toEqual([3, 3, 3, 3, 1, 1, 1, 1, 2, 2, 2, 2]);
});

it("a run counts failures while stacks run; at the limit, it ends the running stacks and starts no more", async () => {
  const fleet = await openTestFleet();
  const { scripts } = fleet.engine;
  scripts.set(stackAt(0), untilStopped);
  scripts.set(stackAt(1), async (task) => {
    const report = failing(3)(task);
    await untilStopped(task);
    return report;
  });

  const options = { stacksAtOnce: 2, stopAfterFailures: 3, onEvent: fleet.onEvent };
  const report = await upFleet(fleet.context, options);

  expect(report).toMatchObject({
    outcome: "stopped",
    stoppedBy: "3 failures, the limit",
    skipped: [2, 3].map((at) => ({ stack: stackAt(at), workspaces: namesIn(fleet, at).length })),
  });
  expect(outcomesOf(report)).toEqual(["stopped", "failed"]);
  // Each failure occurs twice, as an event and in the stack's report, but is reported only once.
  expect(report.failures).toHaveLength(3);
  expect(fleet.events.filter(({ type }) => type === "failure")).toHaveLength(3);
  expect(fleet.events).toContainEqual({ type: "stopping", why: report.stoppedBy });
});

it.each([
  ["before the first stack", 0, "stopped", [], 4],
  ["at the end of the first stack", 1, "stopped", ["done"], 3],
  ["at the end of the last stack", 4, "done", ["done", "done", "done", "done"], 0],
])("a run can be interrupted %s", async (_, after, outcome, outcomes, skipped) => {
  const { context } = await openTestFleet();
  const interruption = new AbortController();
  if (after === 0) interruption.abort();
  let ended = 0;

  const report = await upFleet(context, {
    stacksAtOnce: 1,
    signal: interruption.signal,
    onEvent: ({ type }) => {
      if (type === "stack-ended" && (ended += 1) === after) interruption.abort();
    },
  });

  expect(report.outcome).toBe(outcome);
  expect(outcomesOf(report)).toEqual(outcomes);
  expect(report.skipped).toHaveLength(skipped);
  expect(report.stoppedBy).toBe(outcome === "stopped" ? "interrupted" : undefined);
});

it.each([
  [{ stacksAtOnce: 33 }, "stacksAtOnce", "must be a whole number from 1 to 32, got 33"],
  [{ callsPerOrigin: "8" }, "callsPerOrigin", 'must be a whole number from 1, got "8"'],
  [{ maxRemovals: -1 }, "maxRemovals", "must be a whole number from 0, got -1"],
  [{ shard: "3/2" }, "shard", 'must be a shard such as "2/4", got "3/2"'],
  [{ signal: {} }, "signal", "must be an AbortSignal"],
  [{ onEvent: 1 }, "onEvent", "must be a function"],
  [{ resume: true }, "resume", "is not a known field"],
  [{ rotation: "2026-12" }, "rotation", "is not a known field"],
])("the options %j are rejected before anything runs", async (options, field, text) => {
  const { context, engine } = await openTestFleet();
  const { code, problems } = await failureOf(upFleet(context, options as object));
  expect(code).toBe("invalid_config");
  expect(problems).toMatchObject([{ field, text: expect.stringContaining(text) }]);
  expect(engine.takeBegun()).toEqual([]);
});

const withList = (fleet: TestFleet, names: readonly string[]): Promise<TestFleet> =>
  fleet.reopen({ workspaces: listOf(names) });

const without = (...gone: string[]): string[] => NAMES.filter((name) => !gone.includes(name));

it.each([
  ["that a failed stack removed", true],
  ["that no stack contains when the run starts", false],
])("the index stack drops a workspace %s", async (_, fails) => {
  const before = await openDeployed();
  const [gone = ""] = namesIn(before, 1);
  const { context, engine } = await withList(before, without(gone));
  engine.backend.get(stackAt(1))?.delete(gone);
  const removed = { workspace: gone, change: "delete", botUrl: botUrlOf(gone) } as const;
  if (fails) engine.scripts.set(stackAt(1), () => ({ outcome: "failed", webhooks: [removed] }));
  await upFleet(context, {});
  expect(engine.indexes.at(-1)?.botUrls).toEqual(botUrlsOf(without(gone)));
});

describe("workspaces that leave the list", () => {
  it("are removed if their number is within the limit", async () => {
    const { context, engine } = await withList(await openDeployed(), NAMES.slice(23));
    expect(await upFleet(context, { maxRemovals: 23 })).toMatchObject({ outcome: "done" });
    expect(engine.indexes.at(-1)?.botUrls).toEqual(botUrlsOf(NAMES.slice(23)));
  });

  it.each([
    [11, {}],
    [1, { maxRemovals: 0 }],
  ])("are rejected before anything runs if there are too many: %i with %j", async (count, options) => {
    const { context, engine } = await withList(await openDeployed(), NAMES.slice(count));
    const { problems } = await failureOf(upFleet(context, options));
    const text: unknown = expect.stringContaining(`must be at least ${count}, got`);
    expect(problems).toMatchObject([{ field: "maxRemovals", text }]);
    expect(engine.takeBegun()).toEqual([]);
  });

  it("are removed even if this empties their stack; no stack without workspaces is created", async () => {
    const all = await openTestFleet();
    const [inFirst = "", inSecond = ""] = [namesIn(all, 0)[0], namesIn(all, 1)[0]];
    const { context, engine } = await withList(await openDeployed([inFirst, inSecond]), [inFirst]);
    const { stacks } = await upFleet(context, {});
    expect(engine.takeBegun()).toEqual([0, 1].map((index) => `up ${stackAt(index)}`));
    expect(stacks[1]?.webhooks).toMatchObject([{ workspace: inSecond, change: "delete" }]);
  });
});

it("a number of stacks that differs from the backend's is rejected before anything runs", async () => {
  const before = await openDeployed();
  before.engine.backend.set("other-0-of-9", new Set());
  const { context, engine } = await before.reopen({ stacks: 5 });
  const { code, message } = await failureOf(destroyFleet(context, {}));
  expect(code).toBe("invalid_config");
  expect(message).toMatch(/test-0-of-4 and 3 more.*stacks: 4.*pulumi state move/s);
  expect(engine.takeBegun()).toEqual([]);
});

it("destroy keeps the index stack, with the remaining workspaces, until all other stacks are removed", async () => {
  const fleet = await openDeployed();
  const { context, engine } = fleet;
  engine.scripts.set(stackAt(1), failing(1));
  expect(await destroyFleet(context, {})).toMatchObject({ outcome: "failed" });
  expect([...engine.backend.keys()]).toEqual([stackAt(1), "test-index"]);
  expect(engine.indexes.at(-1)?.botUrls).toEqual(botUrlsOf(namesIn(fleet, 1)));
  engine.scripts.clear();
  await destroyFleet(context, {});
  expect([...engine.backend.keys()]).toEqual([]);
});
