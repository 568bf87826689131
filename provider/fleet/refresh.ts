import { existingTasks, listExisting } from "./existing-stacks.js";
import type { FleetReport } from "./reports.js";
import { withRun, type FleetContext } from "./run-context.js";
import type { RunOptions } from "./run-options.js";
import { toReport } from "./run-report.js";
import { runStacks, tellStart } from "./run-stacks.js";

/** Records in every stack that exists what the service shows. The index stack stays: it tells what `up` has registered. */
export function refreshFleet(context: FleetContext, options: RunOptions): Promise<FleetReport> {
  return withRun(context, { action: "refresh", options }, async (run) => {
    const tasks = existingTasks(context.fleet, await listExisting(run), "refresh");
    tellStart(run, tasks, options);
    return toReport(run, await runStacks(run, tasks, options));
  });
}
