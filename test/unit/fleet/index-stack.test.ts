import { describe, expect, it } from "vitest";
import { toFleet } from "../../../provider/fleet/fleet.ts";
import { upFleet } from "../../../provider/fleet/up.ts";
import { botUrlOf, failing, untilStopped } from "./fake-workers.ts";
import { listOf, NAMES, namesIn, openDeployed, openTestFleet, stackAt } from "./harness.ts";

const botUrlsOf = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, botUrlOf(name)]));

describe("the index stack, on a fake of the worker processes", () => {
  it("has the bot URL and the stack of each workspace", async () => {
    const fleet = await openTestFleet();

    await upFleet(fleet.context, {});

    const stacks = [0, 1, 2, 3].flatMap((index) =>
      namesIn(fleet, index).map((name) => [name, stackAt(index)] as const),
    );
    expect(fleet.workers.indexes).toEqual([
      { botUrls: botUrlsOf(NAMES), stackOf: Object.fromEntries(stacks) },
    ]);
    // It is not written again if nothing of it changes.
    await upFleet(fleet.context, {});
    expect(fleet.workers.indexes).toHaveLength(1);
  });

  it("keeps what it had of a stack that failed, and takes what the others tell", async () => {
    const before = await openDeployed();
    const [gone = ""] = namesIn(before, 0);
    const [stays = ""] = namesIn(before, 1);
    const left = NAMES.filter((name) => name !== gone && name !== stays);
    const { context, workers } = await before.reopen({ workspaces: listOf([...left, "new"]) });
    workers.scripts.set(stackAt(1), failing(1));

    const report = await upFleet(context, {});

    const [newIn] = context.fleet.stacks.filter(({ workspaces }) =>
      workspaces.some(({ name }) => name === "new"),
    );
    // Else the stack that fails is the one that would tell of it.
    expect(newIn?.name).not.toBe(stackAt(1));
    expect(report.outcome).toBe("failed");
    expect(workers.indexes.at(-1)?.botUrls).toEqual(botUrlsOf([...left, stays, "new"]));
  });

  it.each([
    ["whose webhook a failed stack has removed", true],
    ["that a stack does not hold any more, though nothing removed it now", false],
  ])("drops a workspace %s", async (_, fails) => {
    const before = await openDeployed();
    const [gone = ""] = namesIn(before, 1);
    const left = NAMES.filter((name) => name !== gone);
    const { context, workers } = await before.reopen({ workspaces: listOf(left) });
    if (fails) {
      workers.scripts.set(stackAt(1), (options, task) => ({
        ...failing(1)(options, task),
        webhooks: [{ workspace: gone, change: "delete", botUrl: botUrlOf(gone) }],
      }));
    } else workers.backend.get(stackAt(1))?.delete(gone);

    await upFleet(context, {});

    expect(workers.indexes.at(-1)?.botUrls).toEqual(botUrlsOf(left));
  });

  it("is written after an interrupted run too, with what was done before", async () => {
    const fleet = await openTestFleet();
    const interruption = new AbortController();
    fleet.workers.scripts.set(stackAt(1), (options, task) => {
      interruption.abort();
      return untilStopped(options, task);
    });

    const report = await upFleet(fleet.context, { stacksAtOnce: 1, signal: interruption.signal });

    expect(report.outcome).toBe("stopped");
    expect(fleet.workers.indexes.at(-1)?.botUrls).toEqual(botUrlsOf(namesIn(fleet, 0)));
  });

  it("is not made by a run that did nothing", async () => {
    const { context, workers } = await openTestFleet();

    await upFleet(context, { signal: AbortSignal.abort() });

    expect([...workers.backend.keys()]).toEqual([]);
  });

  it("gives the bot URLs of the fleet, none before the first up", async () => {
    const { context } = await openTestFleet();
    const fleet = toFleet(context);

    expect(await fleet.botUrls()).toEqual({});
    await fleet.up();

    expect(await fleet.botUrls()).toEqual(botUrlsOf(NAMES));
  });
});

it("a fleet ends its workers once, however often it is closed", async () => {
  const { context, workers } = await openTestFleet();
  const fleet = toFleet(context);

  await fleet.close();
  await fleet.close();

  expect(workers.closed).toBe(1);
});
