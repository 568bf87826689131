import { findDeployable, listExisting, programTask, requireKnownStacks } from "./existing-stacks.js";
import { isStale } from "./index-entries.js";
import { readIndex } from "./index-stack.js";
import {
  countUnseen,
  lookAtCreates,
  type CreateCounts,
  type Looked,
  type UnknownReason,
} from "./plan-creates.js";
import { findRemovals } from "./removals.js";
import type { Failure, FleetReport, OtherChange, Outcome, StackReport, WebhookChange } from "./reports.js";
import { withRun, type FleetContext } from "./run-context.js";
import type { PlanOptions } from "./run-options.js";
import { secondsSince } from "./run-report.js";
import { runStacks, tellStart } from "./run-stacks.js";

/** How many webhooks get which change. */
export type ChangeCounts = Record<WebhookChange, number>;

/** How many resources of a kind, other than webhooks, get a change. */
export interface OtherCount {
  kind: "key" | "responder" | "other resource";
  change: OtherChange["change"];
  count: number;
}

export interface PlannedStack extends ChangeCounts {
  stack: string;
  outcome: Outcome;
  /** How many resources that are no webhooks change. */
  others: number;
  failures: Failure[];
}

/** What an `up` would do. */
export interface FleetPlan extends Pick<
  FleetReport,
  "failures" | "skipped" | "stoppedBy" | "calls" | "answers429"
> {
  fleet: string;
  /** `failed` if the preview of a stack failed, or the service refuses an API key. */
  outcome: Outcome;
  seconds: number;
  stacks: PlannedStack[];
  totals: ChangeCounts;
  /** Which resources that are no webhooks change. */
  others: OtherCount[];
  /** What stands at the service where a webhook would be created. */
  creates: CreateCounts;
  /** How many workspaces somebody else has taken over, as a look with `refresh` shows: `up` fails there. */
  takenOver: number;
  /** Why some of those are unknown, by how many. */
  unknownReasons: UnknownReason[];
  /** The workspaces that left the list, by name. */
  removals: string[];
  /** `stale`: the index stack lacks what the stacks hold, or has more: a run was killed before it wrote it. `up` writes it. */
  index: "current" | "stale";
}

/** Previews every stack that `up` would run, and looks at each workspace where a webhook would be created. Changes nothing. */
export function planFleet(context: FleetContext, options: PlanOptions): Promise<FleetPlan> {
  const { fleet } = context;
  const { refresh = false } = options;
  return withRun(context, { action: "plan", options }, async (run) => {
    const existing = await listExisting(run);
    const index = await readIndex(run);
    requireKnownStacks(fleet, { existing, index });
    const gone = await findRemovals(fleet, index);
    const tasks = findDeployable(fleet, existing).map((stack) =>
      programTask(fleet, stack, { action: "preview", refresh }),
    );
    tellStart(run, tasks, options);
    const previewed = await runStacks(run, tasks, options);
    const webhooks = previewed.stacks.flatMap((stack) => stack.webhooks);
    // Whatever stopped the previews stops the looks.
    const looked =
      previewed.outcome === "stopped"
        ? countUnseen(previewed.stacks)
        : await lookAtCreates(run, previewed.stacks, options);
    const stacks = previewed.stacks.map((report) => toPlannedStack(report, looked.failures));
    const deleted = webhooks.filter(({ change }) => change === "delete").map(({ workspace }) => workspace);
    return {
      ...previewed,
      ...looked,
      outcome: judge(previewed.outcome, looked),
      failures: [...previewed.failures, ...looked.failures],
      fleet: fleet.name,
      seconds: secondsSince(run.startedAt),
      stacks,
      totals: countChanges(webhooks),
      takenOver: webhooks.filter(({ drift }) => drift?.kind === "taken-over").length,
      others: countOthers(previewed.stacks.flatMap(({ others = [] }) => others)),
      removals: [...new Set([...gone, ...deleted])].toSorted(),
      index: isStale(index, previewed.stacks) ? "stale" : "current",
      calls: run.gate.calls(),
      answers429: run.gate.answers429(),
    };
  });
}

/** A refused key wins over the stop that follows from it. */
function judge(previewed: Outcome, { failures, stoppedBy }: Looked): Outcome {
  if (failures.length > 0) return "failed";
  return stoppedBy === undefined ? previewed : "stopped";
}

function toPlannedStack(
  { stack, outcome, webhooks, others = [], failures }: StackReport,
  seen: readonly Failure[],
): PlannedStack {
  const own = seen.filter((failure) => failure.stack === stack);
  return {
    stack,
    outcome: own.length > 0 ? "failed" : outcome,
    ...countChanges(webhooks),
    others: others.length,
    failures: [...failures, ...own],
  };
}

function countChanges(webhooks: StackReport["webhooks"]): ChangeCounts {
  const counts: ChangeCounts = { create: 0, update: 0, delete: 0, same: 0 };
  for (const { change } of webhooks) counts[change] += 1;
  return counts;
}

/** By the last part of the type, which is the name of the class. */
const KINDS: Partial<Record<string, OtherCount["kind"]>> = {
  VerificationKey: "key",
  ResponderProcess: "responder",
};

function countOthers(others: readonly OtherChange[]): OtherCount[] {
  const counts = new Map<string, OtherCount>();
  for (const { type, change } of others) {
    const kind = KINDS[type.split(":").at(-1) ?? ""] ?? "other resource";
    const id = `${change} ${kind}`;
    counts.set(id, { kind, change, count: (counts.get(id)?.count ?? 0) + 1 });
  }
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, count]) => count);
}
