import { rm } from "node:fs/promises";
import { failureOf } from "./failures.js";
import { readIndex, updateIndex } from "./index-stack.js";
import type { RunOptions } from "./options.js";
import { indexStackName } from "./placement.js";
import type { FleetReport } from "./reports.js";
import { unfinishedFile } from "./rotate.js";
import { announce, beginRun, runStacks, toReport, type FleetContext } from "./run.js";

/** Removes the webhooks and the stacks of the fleet; the index stack last, and only if all others were removed. */
export async function destroyFleet(context: FleetContext, options: RunOptions): Promise<FleetReport> {
  const run = await beginRun(context, "destroy", options);
  const before = await readIndex(run);
  const stacks = run.stacks.filter(({ name }) => run.existing.has(name));
  announce(run, stacks);
  const ran = await runStacks(
    run,
    stacks.map((stack) => ({ action: "destroy", stack })),
  );
  // A rotation that did not end has no workspace any more.
  if (ran.outcome === "done" && options.shard === undefined) await rm(unfinishedFile(run), { force: true });
  const index = indexStackName(run.fleet.name);
  // Shares leave it to the report that joins theirs.
  if (!run.existing.has(index) || options.shard !== undefined) return toReport(run, ran);
  const failure =
    ran.outcome === "done"
      ? await failureOf(index, () => run.engine.removeStack(index))
      : await updateIndex(run, before, ran.stacks);
  return toReport(run, ran, failure);
}

/** Records in every stack that exists what the service shows. The index stack stays: it has what `up` has registered. */
export async function refreshFleet(context: FleetContext, options: RunOptions): Promise<FleetReport> {
  const run = await beginRun(context, "refresh", options);
  const stacks = run.stacks.filter(({ name }) => run.existing.has(name));
  announce(run, stacks);
  return toReport(
    run,
    await runStacks(
      run,
      stacks.map((stack) => ({ action: "refresh", stack })),
    ),
  );
}
