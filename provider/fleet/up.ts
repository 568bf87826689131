import { findDeployable, listExisting, programTask, requireKnownStacks } from "./existing-stacks.js";
import { readIndex, updateIndex } from "./index-stack.js";
import { openJournal, removeJournal } from "./journal.js";
import { findRemovals, requireFewRemovals } from "./removals.js";
import type { FleetReport } from "./reports.js";
import { withRun, type FleetContext } from "./run-context.js";
import type { UpOptions } from "./run-options.js";
import { toReport } from "./run-report.js";
import { runStacks, tellStart } from "./run-stacks.js";

/** Brings every stack to what the list says, and then the index stack to what they hold. */
export function upFleet(context: FleetContext, options: UpOptions): Promise<FleetReport> {
  const { fleet } = context;
  const { refresh = false, resume = false, mostRemovals } = options;
  return withRun(context, { action: "up", options }, async (run) => {
    const existing = await listExisting(run);
    const before = await readIndex(run);
    requireKnownStacks(fleet, { existing, index: before });
    requireFewRemovals(await findRemovals(fleet, before), mostRemovals);
    const journal = await openJournal(fleet, { action: "up", resume, refresh });
    const tasks = findDeployable(fleet, existing).map((stack) =>
      programTask(fleet, stack, { action: "up", refresh: journal.refresh }),
    );
    const left = tasks.filter((task) => !journal.isDone(task));
    tellStart(run, left, options);
    const stacks = await runStacks(run, tasks, { ...options, journal });
    const report = toReport(run, stacks, await updateIndex(run, { before, run: stacks, journal }));
    if (report.outcome === "done") await removeJournal(fleet);
    return report;
  });
}
