import { existingTasks, listExisting } from "./existing-stacks.js";
import { failureOf, readIndex, updateIndex } from "./index-stack.js";
import { removeJournal } from "./journal.js";
import type { Failure, FleetReport } from "./reports.js";
import { withRun, type FleetContext, type RunContext } from "./run-context.js";
import type { RunOptions } from "./run-options.js";
import { toReport } from "./run-report.js";
import { runStacks, tellStart, type StacksRun } from "./run-stacks.js";

/** Removes the webhooks and the stacks of the fleet; the index stack last, and only if all others went. */
export function destroyFleet(context: FleetContext, options: RunOptions): Promise<FleetReport> {
  return withRun(context, { action: "destroy", options }, async (run) => {
    const existing = await listExisting(run);
    const hasIndex = existing.has(context.fleet.indexStack);
    const before = hasIndex ? await readIndex(run) : undefined;
    const tasks = existingTasks(context.fleet, existing, "destroy");
    tellStart(run, tasks, options);
    const stacks = await runStacks(run, tasks, options);
    return toReport(run, stacks, await settleIndex(run, { stacks, before }));
  });
}

/** Without the index stack there is nothing of the fleet left, nor of a run of it that did not end. */
async function settleIndex(
  run: RunContext,
  { stacks, before }: { stacks: StacksRun; before: Awaited<ReturnType<typeof readIndex>> | undefined },
): Promise<Failure | undefined> {
  const { fleet, workers } = run;
  if (stacks.outcome !== "done") return before && updateIndex(run, { before, run: stacks });
  const { indexStack: stack, project } = fleet;
  const failure = before && (await failureOf(stack, () => workers.removeIndex({ stack, project })));
  if (!failure) await removeJournal(fleet);
  return failure;
}
