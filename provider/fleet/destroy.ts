import { rm } from "node:fs/promises";
import { failureOf } from "./failures.js";
import { readIndex, updateIndex } from "./index-stack.js";
import type { RunOptions } from "./options.js";
import { indexStackName } from "./placement.js";
import type { FleetFailure, FleetReport, StackReport } from "./reports.js";
import { unfinishedFile } from "./rotate.js";
import {
  addFailure,
  announce,
  beginRun,
  coversFleet,
  runStacks,
  toReport,
  type FleetContext,
} from "./run.js";

/** Removes the webhooks and the stacks of the fleet; the index stack last, and only if all others were removed. */
export async function destroyFleet(context: FleetContext, options: RunOptions): Promise<FleetReport> {
  const { run, ran } = await runExisting(context, "destroy", options);
  const failure = coversFleet(context, run) ? await updateOrRemoveIndex(context, ran.stacks) : undefined;
  return addFailure(toReport(run, ran), failure);
}

/** Removes the index stack and the record of an unfinished rotation if no stack is left. Returns why that failed. */
async function updateOrRemoveIndex(
  { fleet, stacks, engine }: FleetContext,
  reports: readonly StackReport[],
): Promise<FleetFailure | undefined> {
  const existing = new Set(await engine.listStacks());
  const backend = { fleet, engine, existing };
  const isGone = !stacks.some(({ name }) => existing.has(name));
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
