import { findDeployable, listExisting, programTask } from "./existing-stacks.js";
import { readIndex } from "./index-stack.js";
import { countUnseen, lookAtCreates, type CreateCounts } from "./plan-creates.js";
import { findRemovals } from "./removals.js";
import type { Failure, FleetReport, Outcome, StackReport, WebhookChange } from "./reports.js";
import { withRun, type FleetContext } from "./run-context.js";
import type { PlanOptions } from "./run-options.js";
import { secondsSince } from "./run-report.js";
import { runStacks, tellStart } from "./run-stacks.js";

/** How many webhooks get which change. */
export type ChangeCounts = Record<WebhookChange, number>;

export interface PlannedStack extends ChangeCounts {
  stack: string;
  outcome: Outcome;
  failures: Failure[];
}

/** What an `up` would do. */
export interface FleetPlan extends Pick<
  FleetReport,
  "failures" | "skipped" | "stoppedBy" | "calls" | "answers429"
> {
  fleet: string;
  /** `failed` if the preview of a stack failed. */
  outcome: Outcome;
  seconds: number;
  stacks: PlannedStack[];
  totals: ChangeCounts;
  /** What stands at the service where a webhook would be created. */
  creates: CreateCounts;
  /** The workspaces that left the list, by name. */
  removals: string[];
}

/** Previews every stack that `up` would run, and looks at each workspace where a webhook would be created. Changes nothing. */
export function planFleet(context: FleetContext, options: PlanOptions): Promise<FleetPlan> {
  const { fleet } = context;
  const { refresh = false } = options;
  return withRun(context, { action: "plan", options }, async (run) => {
    const existing = await listExisting(run);
    const gone = await findRemovals(fleet, await readIndex(run));
    const tasks = findDeployable(fleet, existing).map((stack) =>
      programTask(fleet, stack, { action: "preview", refresh }),
    );
    tellStart(run, tasks, options);
    const previewed = await runStacks(run, tasks, options);
    const webhooks = previewed.stacks.flatMap((stack) => stack.webhooks);
    // Whatever stopped the previews stops the looks.
    const looked =
      previewed.outcome === "stopped"
        ? { creates: countUnseen(webhooks), stoppedBy: previewed.stoppedBy }
        : await lookAtCreates(run, webhooks, options);
    const deleted = webhooks.filter(({ change }) => change === "delete").map(({ workspace }) => workspace);
    return {
      ...previewed,
      ...looked,
      outcome: looked.stoppedBy === undefined ? previewed.outcome : "stopped",
      fleet: fleet.name,
      seconds: secondsSince(run.startedAt),
      stacks: previewed.stacks.map(toPlannedStack),
      totals: countChanges(webhooks),
      removals: [...new Set([...gone, ...deleted])].toSorted(),
      calls: run.gate.calls(),
      answers429: run.gate.answers429(),
    };
  });
}

const toPlannedStack = ({ stack, outcome, webhooks, failures }: StackReport): PlannedStack => ({
  stack,
  outcome,
  ...countChanges(webhooks),
  failures,
});

function countChanges(webhooks: StackReport["webhooks"]): ChangeCounts {
  const counts: ChangeCounts = { create: 0, update: 0, delete: 0, same: 0 };
  for (const { change } of webhooks) counts[change] += 1;
  return counts;
}
