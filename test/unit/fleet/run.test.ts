import { describe, expect, it } from "vitest";
import { upFleet } from "../../../provider/fleet/changes.ts";
import type { FleetReport } from "../../../provider/fleet/reports.ts";
import { failureOf } from "../client/harness.ts";
import { failing, namesIn, openTestFleet, stackAt, untilStopped, type Script } from "./harness.ts";

const outcomesOf = ({ stacks }: FleetReport): string[] => stacks.map(({ outcome }) => outcome);

describe("a run over stacks, on a fake engine", () => {
  it("runs as many stacks at once as allowed, and divides the calls among them", async () => {
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
    // Each stack gets at least one call, and a stack that runs alone gets all of them.
    await upFleet(context, { stacksAtOnce: 4, callsPerOrigin: 2 });
    await upFleet(context, { stacksAtOnce: 1, callsPerOrigin: 2 });
    const shares = engine.takeTasks().map(({ callsPerOrigin }) => callsPerOrigin);
    expect(shares).toEqual([3, 3, 3, 3, 1, 1, 1, 1, 2, 2, 2, 2]);
  });

  it("counts failures while stacks run, and at the limit ends them and starts no more", async () => {
    const fleet = await openTestFleet();
    const { scripts } = fleet.engine;
    scripts.set(stackAt(0), untilStopped);
    scripts.set(stackAt(1), async (task) => {
      const report = failing(3)(task);
      await untilStopped(task);
      return report;
    });

    const report = await upFleet(fleet.context, {
      stacksAtOnce: 2,
      stopAfterFailures: 3,
      onEvent: fleet.onEvent,
    });

    expect(report).toMatchObject({
      outcome: "stopped",
      stoppedBy: "3 failures, the limit",
      skipped: [2, 3].map((index) => ({
        stack: stackAt(index),
        workspaces: namesIn(fleet, index).length,
      })),
    });
    expect(outcomesOf(report)).toEqual(["stopped", "failed"]);
    // Each failure is reported as an event, and again in the report of the stack.
    expect(report.failures).toHaveLength(3);
    expect(fleet.events.filter(({ type }) => type === "failure")).toHaveLength(3);
    expect(fleet.events).toContainEqual({ type: "stopping", why: report.stoppedBy });
  });

  it.each([
    ["before the first stack", 0, "stopped", [], 4],
    ["at the end of the first stack", 1, "stopped", ["done"], 3],
    ["at the end of the last stack", 4, "done", ["done", "done", "done", "done"], 0],
  ])("can be interrupted %s", async (_, after, outcome, outcomes, skipped) => {
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
});

describe("the options of a run", () => {
  it.each([
    [{ stacksAtOnce: 33 }, "stacksAtOnce", "must be a whole number from 1 to 32, got 33"],
    [{ callsPerOrigin: "8" }, "callsPerOrigin", 'must be a whole number from 1, got "8"'],
    [{ maxRemovals: -1 }, "maxRemovals", "must be a whole number from 0, got -1"],
    [{ shard: "3/2" }, "shard", 'must be a shard such as "2/4", got "3/2"'],
    [{ signal: {} }, "signal", "must be an AbortSignal"],
    [{ onEvent: 1 }, "onEvent", "must be a function"],
    [{ resume: true }, "resume", "is not a known field"],
    [{ rotation: "2026-12" }, "rotation", "is not a known field"],
  ])("%j are rejected before anything runs", async (options, field, text) => {
    const { context, engine } = await openTestFleet();
    const error = await failureOf(upFleet(context, options as object));
    expect(error).toMatchObject({
      code: "invalid_config",
      problems: [{ field, text: expect.stringContaining(text) }],
    });
    expect(engine.takeBegun()).toEqual([]);
  });
});
