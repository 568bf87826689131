import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { destroyFleet } from "../../../provider/fleet/destroy.ts";
import { openJournal } from "../../../provider/fleet/journal.ts";
import { upFleet } from "../../../provider/fleet/up.ts";
import { failureOf } from "../client/harness.ts";
import { botUrlOf, failing } from "./fake-workers.ts";
import { listOf, NAMES, namesIn, openTestFleet, stackAt, type TestFleet } from "./harness.ts";

const journalOf = ({ dataDir }: TestFleet): string => join(dataDir, "run.json");
const readJournal = (fleet: TestFleet): Promise<string> => readFile(journalOf(fleet), "utf8");

/** An `up` of which the last stack failed: the others are done, and noted so. */
async function failInLastStack(workspaces = listOf(NAMES)): Promise<TestFleet> {
  const fleet = await openTestFleet(workspaces);
  fleet.workers.scripts.set(stackAt(3), failing(1));
  expect(await upFleet(fleet.context, {})).toMatchObject({ outcome: "failed" });
  fleet.workers.scripts.clear();
  fleet.workers.takeBegun();
  return fleet;
}

describe("a run that goes on where another ended, on a fake of the worker processes", () => {
  it("does not do again what was done when the process was killed, and the index has all bot URLs", async () => {
    const first = await openTestFleet();
    // Killed: it is left where it is, with one stack that never ends and an index that was not written.
    const [begun, killed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    first.workers.scripts.set(stackAt(2), async () => {
      begun.resolve();
      await killed.promise;
      return { outcome: "stopped", webhooks: [] };
    });
    const abandoned = upFleet(first.context, { stacksAtOnce: 1 });
    await begun.promise;
    await expect.poll(() => readJournal(first).catch(() => "")).toContain(stackAt(1));
    first.workers.takeBegun();
    first.workers.scripts.clear();

    const next = await first.reopen();
    const report = await upFleet(next.context, { resume: true, onEvent: next.onEvent });

    expect(next.workers.takeBegun()).toEqual([stackAt(2), stackAt(3)]);
    const left = [...namesIn(next, 2), ...namesIn(next, 3)];
    expect(next.events[0]).toEqual({
      type: "run-started",
      action: "up",
      stacks: 2,
      workspaces: left.length,
    });
    expect(report.outcome).toBe("done");
    expect(report.skipped).toEqual(
      [0, 1].map((index) => ({
        stack: stackAt(index),
        workspaces: namesIn(next, index).length,
        why: "done-before",
      })),
    );
    expect(next.workers.indexes.at(-1)?.botUrls).toEqual(
      Object.fromEntries(NAMES.toSorted().map((name) => [name, botUrlOf(name)])),
    );
    killed.resolve();
    await abandoned;
  });

  it("goes on looking at the service if the run that did not end did so", async () => {
    const fleet = await openTestFleet();
    fleet.workers.scripts.set(stackAt(3), failing(1));
    await upFleet(fleet.context, { refresh: true });
    fleet.workers.scripts.clear();
    fleet.workers.takeBegun();

    const report = await upFleet(fleet.context, { resume: true });

    expect(report.skipped).toHaveLength(3);
    expect(fleet.workers.begun).toMatchObject([{ stack: stackAt(3), refresh: true }]);
  });

  it("forgets a run when it is done, and does everything without resume or with nothing to resume", async () => {
    const fleet = await failInLastStack();
    expect(await readJournal(fleet)).toContain(stackAt(0));
    await upFleet(fleet.context, { resume: true });
    expect(fleet.workers.takeBegun()).toEqual([stackAt(3)]);
    await expect(readJournal(fleet)).rejects.toMatchObject({ code: "ENOENT" });
    expect(await upFleet(fleet.context, { resume: true })).toMatchObject({ outcome: "done", skipped: [] });
    expect(fleet.workers.takeBegun()).toHaveLength(4);

    const again = await failInLastStack();
    await upFleet(again.context, {});
    expect(again.workers.begun).toHaveLength(4);
  });

  it("does a stack again whose workspaces have changed since", async () => {
    const first = await failInLastStack();
    const [changed = ""] = namesIn(first, 1);
    const workspaces = listOf(NAMES).map((workspace) =>
      workspace.name === changed ? { ...workspace, apiKey: "another-key" } : workspace,
    );

    const next = await first.reopen({ workspaces });
    await upFleet(next.context, { resume: true });

    expect(next.workers.takeBegun()).toEqual([stackAt(1), stackAt(3)]);
  });

  it("does every stack again if the program or what was asked for is another one", async () => {
    const first = await failInLastStack();
    await upFleet(first.context, { resume: true, refresh: true });
    expect(first.workers.takeBegun()).toHaveLength(4);

    const second = await failInLastStack();
    await writeFile(second.programFile, "export default () => ({ changed: true });\n");
    await upFleet(second.context, { resume: true });
    expect(second.workers.takeBegun()).toHaveLength(4);
  });

  it("does not go on with a run of another command, and names it", async () => {
    const { context, workers } = await openTestFleet();
    await openJournal(context.fleet, { action: "rotate", rotation: "2026-12" });

    const error = await failureOf(upFleet(context, { resume: true }));

    expect(error.code).toBe("invalid_config");
    expect(error.message).toContain("rotate --resume");
    expect(workers.begun).toEqual([]);
  });

  it("keeps the rotation that it began with, and refuses another", async () => {
    const { context } = await openTestFleet();
    await openJournal(context.fleet, { action: "rotate", rotation: "2026-12" });

    const resumed = await openJournal(context.fleet, { action: "rotate", resume: true });
    expect(resumed.rotation).toBe("2026-12");

    const other = { action: "rotate", resume: true, rotation: "2027-01" } as const;
    expect((await failureOf(openJournal(context.fleet, other))).code).toBe("invalid_config");
  });

  it("refuses a file that is no run, and replaces it without resume", async () => {
    const fleet = await failInLastStack();
    await writeFile(journalOf(fleet), '{"version":7}');

    const error = await failureOf(upFleet(fleet.context, { resume: true }));
    expect(error).toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining(journalOf(fleet)),
    });

    expect(await upFleet(fleet.context, {})).toMatchObject({ outcome: "done" });
  });

  it("notes no secret, in a file that only its owner can read and that goes with destroy", async () => {
    const apiKey = "an-api-key-nobody-may-see";
    const fleet = await failInLastStack(listOf(NAMES, { apiKey }));

    expect(await readJournal(fleet)).not.toContain(apiKey);
    expect((await stat(journalOf(fleet))).mode & 0o777).toBe(0o600);
    await destroyFleet(fleet.context, {});
    await expect(readJournal(fleet)).rejects.toMatchObject({ code: "ENOENT" });
  });
});
