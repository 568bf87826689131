import { openIndex, updateIndex } from "./index-stack.js";
import type { RunOptions, UpOptions } from "./options.js";
import type { FleetReport } from "./reports.js";
import { beginRun, runStacks, toFleetReport, type FleetContext } from "./run.js";

export async function upFleet(context: FleetContext, options: UpOptions): Promise<FleetReport> {
  const run = await beginRun(context, "up", options);
  const index = await openIndex(run);
  const ran = await runStacks(run, { action: "up", refresh: run.options.refresh });
  return toFleetReport(run, ran, run.isWhole ? await updateIndex(run, index, ran.stacks) : []);
}

/** Records in every stack that exists what the service shows. The index stack keeps what `up` has registered. */
export async function refreshFleet(context: FleetContext, options: RunOptions): Promise<FleetReport> {
  const run = await beginRun(context, "refresh", options);
  return toFleetReport(run, await runStacks(run, { action: "refresh" }));
}
