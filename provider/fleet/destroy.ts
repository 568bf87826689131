import { rm } from "node:fs/promises";
import { failureOf } from "./failures.js";
import { readIndex, updateIndex } from "./index-stack.js";
import type { RunOptions } from "./options.js";
import { indexStackName } from "./placement.js";
import type { Failure, FleetReport } from "./reports.js";
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
  const ran = await runExisting(run, "destroy");
  // A shard leaves the index to the report that merges the shards.
  const failure = options.shard === undefined ? await recordDestroy(context, ran) : undefined;
  return toReport(run, ran, failure);
}

/**
 * Records a destroy in the index stack, or removes that too if it is the only stack left, along with the record of an
 * unfinished rotation. Returns why that failed.
 */
export async function recordDestroy(
  { fleet, stacks, engine }: FleetContext,
  { stacks: reports }: Pick<FleetReport, "stacks">,
): Promise<Failure | undefined> {
  const existing = new Set(await engine.listStacks());
  const run = { fleet, engine, existing };
  const isLast = !stacks.some(({ name }) => existing.has(name));
  if (isLast) await rm(unfinishedFile(run), { force: true });
  const index = indexStackName(fleet.name);
  if (!existing.has(index)) return undefined;
  return isLast
    ? failureOf(index, () => engine.removeStack(index))
    : updateIndex(run, await readIndex(run), reports);
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
