import { rm } from "node:fs/promises";
import { failureOf } from "./failures.js";
import { openIndex, readIndex, updateIndex } from "./index-stack.js";
import type { RunOptions, UpOptions } from "./options.js";
import { indexStackName } from "./placement.js";
import type { FleetFailure, FleetReport, StackReport } from "./reports.js";
import { unfinishedFile } from "./rotate.js";
import { beginRun, runStacks, toFleetReport, type FleetContext, type FleetRun } from "./run.js";

export async function upFleet(context: FleetContext, options: UpOptions): Promise<FleetReport> {
  const run = await beginRun(context, "up", options);
  const index = await openIndex(run);
  const ran = await runStacks(run, { action: "up", refresh: run.options.refresh });
  return toFleetReport(run, ran, run.isWhole ? await updateIndex(run, index, ran.stacks) : []);
}

/** Refreshes every existing stack: its state then shows what the service returns. Leaves the index stack unchanged. */
export async function refreshFleet(context: FleetContext, options: RunOptions): Promise<FleetReport> {
  const run = await beginRun(context, "refresh", options);
  return toFleetReport(run, await runStacks(run, { action: "refresh" }));
}

export async function destroyFleet(context: FleetContext, options: RunOptions): Promise<FleetReport> {
  const run = await beginRun(context, "destroy", options);
  const ran = await runStacks(run, { action: "destroy" });
  return toFleetReport(run, ran, run.isWhole ? await updateOrRemoveIndex(run, ran.stacks) : []);
}

/** Updates the index stack or, if no other stack is left, removes it and the file of an unfinished rotation. */
async function updateOrRemoveIndex(run: FleetRun, reports: readonly StackReport[]): Promise<FleetFailure[]> {
  const { fleet, stacks, engine } = run;
  const existing = new Set(await engine.listStacks());
  const left = { ...run, existing };
  if (stacks.some(({ name }) => existing.has(name))) return updateIndex(left, await readIndex(left), reports);
  await rm(unfinishedFile(run), { force: true });
  const index = indexStackName(fleet.name);
  return existing.has(index) ? failureOf(index, () => engine.removeStack(index)) : [];
}
