import { rm } from "node:fs/promises";
import { failureOf } from "./failures.js";
import { readIndex, updateIndex } from "./index-stack.js";
import type { RunOptions } from "./options.js";
import { indexStackName } from "./placement.js";
import type { FleetReport } from "./reports.js";
import { unfinishedFile } from "./rotate.js";
import {
  announce,
  beginRun,
  runStacks,
  toReport,
  type FleetContext,
  type Run,
  type StacksRun,
} from "./run.js";

/** Removes the webhooks and the stacks of the fleet; the index stack last, and only if all others were removed. */
export async function destroyFleet(context: FleetContext, options: RunOptions): Promise<FleetReport> {
  const run = await beginRun(context, "destroy", options);
  const before = await readIndex(run);
  const ran = await runExisting(run, "destroy");
  // A shard leaves both to the report that merges the shards.
  if (options.shard !== undefined) return toReport(run, ran);
  // A rotation that was not finished has no workspaces any more.
  if (ran.outcome === "done") await rm(unfinishedFile(run), { force: true });
  const index = indexStackName(run.fleet.name);
  if (!run.existing.has(index)) return toReport(run, ran);
  const failure =
    ran.outcome === "done"
      ? await failureOf(index, () => run.engine.removeStack(index))
      : await updateIndex(run, before, ran.stacks);
  return toReport(run, ran, failure);
}

/** Records in every stack that exists what the service shows. The index stack keeps what `up` has registered. */
export async function refreshFleet(context: FleetContext, options: RunOptions): Promise<FleetReport> {
  const run = await beginRun(context, "refresh", options);
  return toReport(run, await runExisting(run, "refresh"));
}

function runExisting(run: Run, action: "destroy" | "refresh"): Promise<StacksRun> {
  const stacks = run.stacks.filter(({ name }) => run.existing.has(name));
  announce(run, stacks);
  return runStacks(run, stacks, { action });
}
