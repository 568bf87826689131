import { describe, expect, it } from "vitest";
import { destroyFleet } from "../../../provider/fleet/destroy.ts";
import { findDeployable, programTask } from "../../../provider/fleet/existing-stacks.ts";
import { planFleet } from "../../../provider/fleet/plan.ts";
import { refreshFleet } from "../../../provider/fleet/refresh.ts";
import { withRun, type FleetContext, type RunContext } from "../../../provider/fleet/run-context.ts";
import type { RunOptions } from "../../../provider/fleet/run-options.ts";
import { runStacks, type StacksRun } from "../../../provider/fleet/run-stacks.ts";
import { upFleet } from "../../../provider/fleet/up.ts";
import { failureOf } from "../client/harness.ts";
import { failing, untilStopped, type Script } from "./fake-workers.ts";
import { openTestFleet, stackAt, type TestFleet } from "./harness.ts";

const CALL = { origin: "https://platform.example", operation: "get-webhook" } as const;

/** Runs every stack of the fleet, behind a real gate. */
const runAll = (
  { context, onEvent }: TestFleet,
  options: RunOptions = {},
  onOpen: (run: RunContext) => void = () => undefined,
): Promise<StacksRun> => {
  const given = { onEvent, ...options };
  return withRun(context, { action: "up", options: given }, (run) => {
    onOpen(run);
    const tasks = findDeployable(run.fleet, new Set()).map((stack) =>
      programTask(run.fleet, stack, { action: "up" }),
    );
    return runStacks(run, tasks, given);
  });
};

const loseScreen = (): never => {
  throw new Error("the screen is gone");
};

describe("a run over stacks, on a fake of the worker processes", () => {
  it("has as many stacks under way at once as it may, and no more", async () => {
    const fleet = await openTestFleet();
    const together = Promise.withResolvers<void>();
    const waitForTwo: Script = async () => {
      if (fleet.workers.mostUnderWay === 2) together.resolve();
      await together.promise;
      return {};
    };
    for (const index of [0, 1, 2, 3]) fleet.workers.scripts.set(stackAt(index), waitForTwo);

    const run = await runAll(fleet, { stacksAtOnce: 2 });

    expect(run.outcome).toBe("done");
    expect(run.stacks.map(({ stack }) => stack)).toEqual([0, 1, 2, 3].map(stackAt));
    expect(fleet.workers.mostUnderWay).toBe(2);
  });

  it("gives each task the environment of the gate, and passes on what happens, with the stack's name and size", async () => {
    const fleet = await openTestFleet();
    let environment: unknown;
    fleet.workers.scripts.set(stackAt(0), (options) => {
      ({ environment } = options);
      options.onEvent({ type: "note", line: "w1: the key is short" });
      return {};
    });
    let expected: object = {};

    const run = await runAll(fleet, { stacksAtOnce: 1 }, ({ gate }) => (expected = gate.environment));

    expect(expected).toHaveProperty("APICHAT_CALL_GATE");
    expect(environment).toEqual({ ...expected, APICHAT_REPORT: "json" });

    const [first] = run.stacks;
    const events = fleet.events.slice(0, (first?.webhooks.length ?? 0) + 3);
    expect(events).toEqual([
      { type: "stack-started", stack: stackAt(0), workspaces: first?.webhooks.length },
      { type: "note", stack: stackAt(0), line: "w1: the key is short" },
      ...(first?.webhooks ?? []).map((webhook) => ({ type: "webhook", stack: stackAt(0), webhook })),
      { type: "stack-ended", report: first },
    ]);
  });

  it("counts failures while the stacks run, ends those under way at the most allowed, and begins no other", async () => {
    const fleet = await openTestFleet();
    const { scripts } = fleet.workers;
    scripts.set(stackAt(0), untilStopped);
    scripts.set(stackAt(1), async (options, task) => {
      const report = failing(3)(options, task);
      await untilStopped(options, task);
      return report;
    });

    const run = await runAll(fleet, { stacksAtOnce: 2, stopAfterFailures: 3 });

    expect(run.outcome).toBe("stopped");
    expect(run.stacks.map(({ outcome }) => outcome)).toEqual(["stopped", "failed"]);
    expect(run.skipped.map(({ stack, why }) => [stack, why])).toEqual([
      [stackAt(2), "stopped"],
      [stackAt(3), "stopped"],
    ]);
    expect(run.skipped.every(({ workspaces }) => workspaces > 0)).toBe(true);
    expect(run.failures).toHaveLength(3);
    expect(run.stoppedBy).toMatch(/^3 failures.*up --resume$/);
    expect(fleet.events).toContainEqual({ type: "stopping", why: run.stoppedBy });
  });

  it("counts a failure once that comes in an event and in the report, and reports one that only the report names", async () => {
    const fleet = await openTestFleet();
    const failure = { stack: stackAt(2), message: "the stack is locked" };
    fleet.workers.scripts.set(stackAt(0), failing(2));
    fleet.workers.scripts.set(stackAt(2), () => ({ outcome: "failed", failures: [failure] }));

    const run = await runAll(fleet, { stopAfterFailures: 4 });

    expect(run.outcome).toBe("failed");
    expect(run.failures).toHaveLength(3);
    expect(fleet.events.filter(({ type }) => type === "failure")).toHaveLength(3);
    expect(fleet.events).toContainEqual({ type: "failure", failure });
    expect(run.skipped).toEqual([]);
  });

  it("ends the stacks under way when it is interrupted, and says how to go on", async () => {
    const fleet = await openTestFleet();
    const interruption = new AbortController();
    fleet.workers.scripts.set(stackAt(0), (options, task) => {
      interruption.abort();
      return untilStopped(options, task);
    });

    const run = await runAll(fleet, { stacksAtOnce: 1, signal: interruption.signal });

    expect(fleet.workers.takeBegun()).toEqual([stackAt(0)]);
    expect(run).toMatchObject({
      outcome: "stopped",
      stoppedBy: expect.stringMatching(/^interrupted: .*--resume$/),
    });
  });

  it("is done, not stopped, when the interruption finds nothing left to stop", async () => {
    const fleet = await openTestFleet();
    const interruption = new AbortController();
    let ended = 0;

    const run = await runAll(fleet, {
      signal: interruption.signal,
      onEvent: ({ type }) => {
        if (type === "stack-ended" && (ended += 1) === 4) interruption.abort();
      },
    });

    expect(run).toMatchObject({ outcome: "done", skipped: [] });
    expect(run).not.toHaveProperty("stoppedBy");
  });

  it("stops when the service has asked for fewer calls too often, and counts the calls", async () => {
    const fleet = await openTestFleet();
    let open: RunContext | undefined;
    fleet.workers.scripts.set(stackAt(1), async (options, task) => {
      const place = await open?.gate.gate.enter(CALL);
      place?.leave({ pauseMs: 0 });
      return untilStopped(options, task);
    });

    const run = await runAll(fleet, { stacksAtOnce: 1, most429: 1 }, (context) => (open = context));

    expect(fleet.workers.takeBegun()).toEqual([stackAt(0), stackAt(1)]);
    expect(run).toMatchObject({ outcome: "stopped", calls: { "get-webhook": 1 }, answers429: 1 });
    expect(run.stoppedBy).toMatch(/429/);
  });

  it("ends what is under way, and rejects, when onEvent throws", async () => {
    const fleet = await openTestFleet();
    let ended = false;
    fleet.workers.scripts.set(stackAt(0), async (options, task) => {
      const report = await untilStopped(options, task);
      ended = true;
      return report;
    });

    await expect(runAll(fleet, { stacksAtOnce: 2, onEvent: loseScreen })).rejects.toThrow(
      "the screen is gone",
    );

    expect(ended).toBe(true);
  });
});

describe("the options of a run", () => {
  const runs: Record<string, (context: FleetContext, options: object) => Promise<unknown>> = {
    plan: planFleet,
    up: upFleet,
    refresh: refreshFleet,
    destroy: destroyFleet,
  };

  it.each([
    ["plan", { stacksAtOnce: 0 }, "stacksAtOnce: must be a whole number from 1 to 32, got 0"],
    ["plan", { stacksAtOnce: 33 }, "stacksAtOnce: must be a whole number from 1 to 32, got 33"],
    ["up", { callsPerOrigin: 1.5 }, "callsPerOrigin: must be a whole number from 1, got 1.5"],
    ["up", { most429: "8" }, 'most429: must be a whole number from 1, got "8"'],
    ["up", { mostRemovals: -1 }, "mostRemovals: must be a whole number from 0, got -1"],
    ["up", { stacksAtOnce: 0, most429: 0 }, /stacksAtOnce: .*; most429: /],
    ["refresh", { stopAfterFailures: Number.NaN }, "stopAfterFailures: must be a whole number from 1"],
    ["destroy", { resume: true }, "resume: is not a known field"],
  ])("are refused by %s before anything runs: %j", async (action, options, message) => {
    const { context, workers } = await openTestFleet();

    const error = await failureOf(runs[action]?.(context, options) ?? Promise.resolve());

    expect(error.code).toBe("invalid_config");
    expect(error.message).toMatch(message);
    expect(workers.begun).toEqual([]);
  });
});
