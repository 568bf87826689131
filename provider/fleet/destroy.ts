import { rm } from "node:fs/promises";
import { failureOf } from "./failures.js";
import { readIndex, updateIndex } from "./index-stack.js";
import type { RunOptions } from "./options.js";
import { indexStackName } from "./placement.js";
import type { FleetFailure, FleetReport } from "./reports.js";
import { unfinishedFile } from "./rotate.js";
import { addFailure, announce, beginRun, runStacks, toReport, type FleetContext } from "./run.js";

/** Removes the webhooks and the stacks of the fleet; the index stack last, and only if all others were removed. */
export async function destroyFleet(context: FleetContext, options: RunOptions): Promise<FleetReport> {
  const { run, ran } = await runExisting(context, "destroy", options);
  // A shard leaves the index to the report that merges the shards.
  const failure = options.shard === undefined ? await recordIndex(context, ran) : undefined;
  return addFailure(toReport(run, ran), failure);
}

/**
 * Brings the index stack to what a report says. After a destroy that has left no stack, it removes the index stack and the record
 * of an unfinished rotation. Returns why that failed.
 */
export async function recordIndex(
  { fleet, stacks, engine }: FleetContext,
  { action, stacks: reports }: FleetReport,
): Promise<FleetFailure | undefined> {
  const existing = new Set(await engine.listStacks());
  const backend = { fleet, engine, existing };
  const isGone = action === "destroy" && !stacks.some(({ name }) => existing.has(name));
  if (!isGone) return updateIndex(backend, await readIndex(backend), reports);
  await rm(unfinishedFile(backend), { force: true });
  const index = indexStackName(fleet.name);
  return existing.has(index) ? failureOf(index, () => engine.removeStack(index)) : undefined;
}

/** Records in every stack that exists what the service shows. The index stack keeps what `up` has registered. */
export async function refreshFleet(context: FleetContext, options: RunOptions): Promise<FleetReport> {
  return (await runExisting(context, "refresh", options)).ran;
}

async function runExisting(context: FleetContext, action: "destroy" | "refresh", options: RunOptions) {
  const run = await beginRun(context, action, options);
  const stacks = run.stacks.filter(({ name }) => run.existing.has(name));
  announce(run, stacks);
  return { run, ran: await runStacks(run, stacks, { action }) };
}
