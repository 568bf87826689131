import { describe, expect, it } from "vitest";
import { destroyFleet } from "../../../provider/fleet/destroy.ts";
import { planFleet } from "../../../provider/fleet/plan.ts";
import { refreshFleet } from "../../../provider/fleet/refresh.ts";
import { rotateFleet } from "../../../provider/fleet/rotation.ts";
import { upFleet } from "../../../provider/fleet/up.ts";
import { failureOf } from "../client/harness.ts";
import { failing } from "./fake-workers.ts";
import { listOf, NAMES, namesIn, openDeployed, openTestFleet, stackAt } from "./harness.ts";

describe("workspaces that leave the list, on a fake of the worker processes", () => {
  it.each([
    ["more than the most allowed: the count is named", 13, {}, /11 fewer .*at most 10 .*--most-removals 11$/],
    ["any with a most of 0: they are named", 23, { mostRemovals: 0 }, /w23/],
  ])("are not removed if they are %s, and nothing runs", async (_, kept, options, message) => {
    const before = await openDeployed();
    const { context, workers } = await before.reopen({ workspaces: listOf(NAMES.slice(0, kept)) });

    const error = await failureOf(upFleet(context, options));

    expect(error.code).toBe("invalid_config");
    expect(error.message).toMatch(message);
    expect(workers.begun).toEqual([]);
  });

  it("are removed up to that count, or as many as is said", async () => {
    const before = await openDeployed();
    const few = await before.reopen({ workspaces: listOf(NAMES.slice(0, 14)) });
    expect(await upFleet(few.context, {})).toMatchObject({ outcome: "done" });
    const one = await before.reopen({ workspaces: listOf(NAMES.slice(0, 1)) });
    expect(await upFleet(one.context, { mostRemovals: 13 })).toMatchObject({ outcome: "done" });
    expect(Object.keys(one.workers.indexes.at(-1)?.botUrls ?? {})).toEqual(["w0"]);
  });

  it("are known from a run that did not come to its index", async () => {
    const first = await openTestFleet();
    first.workers.writeIndex = () => Promise.reject(new Error("killed"));
    expect(await upFleet(first.context, {})).toMatchObject({
      outcome: "failed",
      failures: [{ stack: "test-index", message: "killed" }],
    });

    const { context } = await first.reopen({ workspaces: listOf(NAMES.slice(0, 1)) });

    expect((await failureOf(upFleet(context, {}))).code).toBe("invalid_config");
  });

  it("are removed also where a stack keeps none, and a stack that never was is not made", async () => {
    const all = await openTestFleet();
    const [inFirst = ""] = namesIn(all, 0);
    const [inSecond = ""] = namesIn(all, 1);
    const before = await openDeployed([inFirst, inSecond]);
    const { context, workers } = await before.reopen({ workspaces: listOf([inFirst]) });

    const report = await upFleet(context, {});

    expect(workers.takeBegun()).toEqual([stackAt(0), stackAt(1)]);
    expect(report.stacks[1]?.webhooks).toMatchObject([{ workspace: inSecond, change: "delete" }]);
  });
});

describe("another number of stacks than those that exist", () => {
  it.each([
    ["plan", planFleet],
    ["up", upFleet],
    ["refresh", refreshFleet],
    ["destroy", destroyFleet],
  ])("is refused by %s, and the number to keep is named", async (_, run) => {
    const before = await openDeployed();
    const { context, workers } = await before.reopen({ stacks: 5 });

    const error = await failureOf(run(context, {}));

    expect(error.code).toBe("invalid_config");
    expect(error.message).toMatch(/test-0-of-4 and 3 more.*stacks: 4.*pulumi state move/s);
    expect(workers.begun).toEqual([]);
  });

  it("is no matter of another fleet's stacks", async () => {
    const { context, workers } = await openTestFleet();
    workers.backend.set("other-0-of-9", new Set());

    expect(await upFleet(context, {})).toMatchObject({ outcome: "done" });
    expect(await destroyFleet(context, {})).toMatchObject({ outcome: "done" });
    expect([...workers.backend.keys()]).toEqual(["other-0-of-9"]);
  });
});

describe("a stack that the index knows and the backend does not hold", () => {
  it.each([
    ["plan", planFleet],
    ["up", upFleet],
    ["rotate", rotateFleet],
  ])("is refused by %s, which would make new keys, and its copy is named", async (_, run) => {
    const { context, workers } = await openDeployed();
    workers.backend.delete(stackAt(2));

    const error = await failureOf(run(context, {}));

    expect(error.code).toBe("invalid_config");
    expect(error.message).toContain(`${context.fleet.project}/${stackAt(2)}.json.bak`);
    expect(workers.begun).toEqual([]);
  });
});

describe("destroy, on a fake of the worker processes", () => {
  it("removes every stack that exists, also those whose workspaces left the list, and the index stack", async () => {
    const before = await openDeployed();
    const { context, workers } = await before.reopen({ workspaces: listOf(["w0"]) });

    const report = await destroyFleet(context, {});

    expect(report.stacks.map(({ stack }) => stack)).toEqual([0, 1, 2, 3].map(stackAt));
    expect([...workers.backend.keys()]).toEqual([]);
  });

  it("keeps the index stack, with what is left, while a stack is left", async () => {
    const fleet = await openDeployed();
    fleet.workers.scripts.set(stackAt(1), failing(1));

    expect(await destroyFleet(fleet.context, {})).toMatchObject({ outcome: "failed" });

    expect([...fleet.workers.backend.keys()]).toEqual([stackAt(1), "test-index"]);
    const left = fleet.workers.indexes.at(-1);
    expect(Object.keys(left?.botUrls ?? {})).toEqual(namesIn(fleet, 1).toSorted());

    fleet.workers.scripts.clear();
    fleet.workers.takeBegun();
    expect(await destroyFleet(fleet.context, {})).toMatchObject({ outcome: "done" });
    expect(fleet.workers.takeBegun()).toEqual([stackAt(1)]);
    expect([...fleet.workers.backend.keys()]).toEqual([]);
  });

  it("is done where there is nothing", async () => {
    const { context } = await openTestFleet();

    expect(await destroyFleet(context, {})).toMatchObject({ outcome: "done", stacks: [] });
  });
});

it("refresh runs the stacks that exist, and leaves the index alone", async () => {
  const fleet = await openDeployed();
  fleet.workers.backend.delete(stackAt(2));

  const report = await refreshFleet(fleet.context, { onEvent: fleet.onEvent });

  expect(report).toMatchObject({ action: "refresh", outcome: "done" });
  expect(fleet.workers.takeBegun()).toEqual([0, 1, 3].map(stackAt));
  expect(fleet.workers.indexes).toHaveLength(1);
});
