import { describe, expect, it } from "vitest";
import { destroyFleet, upFleet } from "../../../provider/fleet/changes.ts";
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
  it.each([
    ["that a failed stack removed", { outcome: "failed" } as const],
    ["that disappeared before this run", {}],
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

describe("workspaces that leave the list", () => {
  it("are removed, as many as allowed", async () => {
    const { context, engine } = await withList(await openDeployed(), NAMES.slice(23));
    expect(await upFleet(context, { maxRemovals: 23 })).toMatchObject({ outcome: "done" });
    expect(engine.indexes.at(-1)?.botUrls).toEqual(botUrlsOf(NAMES.slice(23)));
  });

  it.each([
    [11, {}],
    [1, { maxRemovals: 0 }],
  ])("are rejected before anything runs: %i with %j", async (count, options) => {
    const { context, engine } = await withList(await openDeployed(), NAMES.slice(count));
    const { problems } = await failureOf(upFleet(context, options));
    expect(problems).toMatchObject([
      { field: "maxRemovals", text: expect.stringContaining(`must be at least ${count}, got`) },
    ]);
    expect(engine.takeBegun()).toEqual([]);
  });

  it("are removed even if this empties their stack, and no missing stack is created", async () => {
    const all = await openTestFleet();
    const [inFirst = "", inSecond = ""] = [namesIn(all, 0)[0], namesIn(all, 1)[0]];
    const { context, engine } = await withList(await openDeployed([inFirst, inSecond]), [inFirst]);
    const { stacks } = await upFleet(context, {});
    expect(engine.takeBegun()).toEqual([0, 1].map((index) => `up ${stackAt(index)}`));
    expect(stacks[1]?.webhooks).toMatchObject([{ workspace: inSecond, change: "delete" }]);
  });
});

describe("a backend with a different number of stacks", () => {
  it("is rejected before anything runs", async () => {
    const before = await openDeployed();
    before.engine.backend.set("other-0-of-9", new Set());
    const { context, engine } = await before.reopen({ stacks: 5 });
    const { code, message } = await failureOf(destroyFleet(context, {}));
    expect(code).toBe("invalid_config");
    expect(message).toMatch(/test-0-of-4 and 3 more.*stacks: 4.*pulumi state move/s);
    expect(engine.takeBegun()).toEqual([]);
  });
});

describe("destroy", () => {
  it("keeps the index stack with the remaining workspaces until all stacks are removed", async () => {
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
