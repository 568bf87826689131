import { describe, expect, it } from "vitest";
import { destroyFleet, refreshFleet } from "../../../provider/fleet/destroy.ts";
import { planFleet } from "../../../provider/fleet/plan.ts";
import { rotateFleet } from "../../../provider/fleet/rotate.ts";
import { upFleet } from "../../../provider/fleet/up.ts";
import { watchFleet } from "../../../provider/fleet/watch.ts";
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
  type TestFleet,
} from "./harness.ts";

const withList = (fleet: TestFleet, names: readonly string[]): Promise<TestFleet> =>
  fleet.reopen({ workspaces: listOf(names) });

const without = (...gone: string[]): string[] => NAMES.filter((name) => !gone.includes(name));

describe("the index stack", () => {
  it("has the bot URL and the stack of each workspace, and is written only if that changes", async () => {
    const fleet = await openDeployed();
    await upFleet(fleet.context, {});
    const stacks = [0, 1, 2, 3].flatMap((index) =>
      namesIn(fleet, index).map((name) => [name, stackAt(index)]),
    );
    expect(fleet.engine.indexes).toEqual([
      { botUrls: botUrlsOf(NAMES), stackOf: Object.fromEntries(stacks) as object },
    ]);
    expect(Object.keys(fleet.engine.indexes[0]?.botUrls ?? {})).toEqual(NAMES.toSorted());
  });

  it.each([
    ["that a failed stack has removed", { outcome: "failed" } as const],
    ["that a stack does not hold any more, though nothing removed it now", {}],
  ])("drops a workspace %s", async (_, { outcome }: { outcome?: "failed" }) => {
    const before = await openDeployed();
    const [gone = ""] = namesIn(before, 1);
    const { context, engine } = await withList(before, without(gone));
    engine.backend.get(stackAt(1))?.delete(gone);
    const removed = { workspace: gone, change: "delete", botUrl: botUrlOf(gone) } as const;
    if (outcome) engine.scripts.set(stackAt(1), () => ({ outcome, webhooks: [removed] }));
    await upFleet(context, {});
    expect(engine.indexes.at(-1)?.botUrls).toEqual(botUrlsOf(without(gone)));
  });
});

describe("up --only-failed", () => {
  it("runs what the last up did not finish, also after kill -9, until all is done", async () => {
    const fleet = await openTestFleet();
    const { engine } = fleet;
    engine.scripts.set(stackAt(1), failing(1));
    // What is killed writes no report.
    engine.scripts.set(stackAt(3), () => Promise.reject(new Error("killed")));
    await expect(upFleet(fleet.context, { stacksAtOnce: 1 })).rejects.toThrow("killed");
    engine.scripts.clear();
    engine.takeTasks();

    const next = await fleet.reopen({});
    const report = await upFleet(next.context, { onlyFailed: true });

    expect(engine.takeBegun()).toEqual([1, 3].map((index) => `up ${stackAt(index)}`));
    expect(report.skipped).toEqual(
      [0, 2].map((index) => ({
        stack: stackAt(index),
        workspaces: namesIn(fleet, index).length,
        reason: "already-done",
      })),
    );
    await upFleet(next.context, { onlyFailed: true });
    expect(engine.takeBegun()).toEqual([]);
  });

  it("is refused where no up has run", async () => {
    const { context, engine } = await openTestFleet();
    expect((await failureOf(upFleet(context, { onlyFailed: true }))).code).toBe("invalid_config");
    expect(engine.takeBegun()).toEqual([]);
  });
});

describe("workspaces that leave the list", () => {
  it.each([
    [10, {}],
    [23, { maxRemovals: 23 }],
  ])("are removed: %i with %j", async (count, options) => {
    const { context, engine } = await withList(await openDeployed(), NAMES.slice(count));
    expect(await upFleet(context, options)).toMatchObject({ outcome: "done" });
    expect(engine.indexes.at(-1)?.botUrls).toEqual(botUrlsOf(NAMES.slice(count)));
  });

  it.each([
    [11, {}],
    [1, { maxRemovals: 0 }],
  ])("are refused before anything runs: %i with %j", async (count, options) => {
    const { context, engine } = await withList(await openDeployed(), NAMES.slice(count));
    const { code, message } = await failureOf(upFleet(context, options));
    expect(code).toBe("invalid_config");
    expect(message).toContain(`--max-removals ${count}`);
    expect(engine.takeBegun()).toEqual([]);
  });

  it("are removed also where a stack keeps none, and a stack that never was is not made", async () => {
    const all = await openTestFleet();
    const [inFirst = "", inSecond = ""] = [namesIn(all, 0)[0], namesIn(all, 1)[0]];
    const { context, engine } = await withList(await openDeployed([inFirst, inSecond]), [inFirst]);
    const { stacks } = await upFleet(context, {});
    expect(engine.takeBegun()).toEqual([0, 1].map((index) => `up ${stackAt(index)}`));
    expect(stacks[1]?.webhooks).toMatchObject([{ workspace: inSecond, change: "delete" }]);
  });
});

const RUNS = {
  plan: planFleet,
  up: upFleet,
  rotate: rotateFleet,
  refresh: refreshFleet,
  destroy: destroyFleet,
  watch: watchFleet,
};

describe("a backend that does not fit is refused before anything runs", () => {
  it.each(Object.entries(RUNS))("%s: another number of stacks", async (_, run) => {
    const before = await openDeployed();
    before.engine.backend.set("other-0-of-9", new Set());
    const { context, engine } = await before.reopen({ stacks: 5 });
    const { code, message } = await failureOf(run(context, {}));
    expect(code).toBe("invalid_config");
    expect(message).toMatch(/test-0-of-4 and 3 more.*stacks: 4.*pulumi state move/s);
    expect(engine.takeBegun()).toEqual([]);
  });

  it.each(Object.entries(RUNS).slice(0, 3))("%s: a stack that the index knows is gone", async (_, run) => {
    const { context, engine } = await openDeployed();
    engine.backend.delete(stackAt(2));
    const { code, message } = await failureOf(run(context, {}));
    expect(code).toBe("invalid_config");
    expect(message).toContain(`${context.fleet.project}/${stackAt(2)}.json.bak`);
    expect(engine.takeBegun()).toEqual([]);
  });
});

describe("destroy", () => {
  it("removes every stack that exists, also those whose workspaces left the list, and the index stack", async () => {
    const { context, engine } = await withList(await openDeployed(), ["w0"]);
    engine.backend.set("other-0-of-9", new Set());
    const { stacks } = await destroyFleet(context, {});
    expect(stacks.map(({ stack }) => stack)).toEqual([0, 1, 2, 3].map(stackAt));
    expect([...engine.backend.keys()]).toEqual(["other-0-of-9"]);
    expect(await destroyFleet(context, {})).toMatchObject({ outcome: "done", stacks: [] });
  });

  it("keeps the index stack, with what is left, while a stack is left", async () => {
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
});
