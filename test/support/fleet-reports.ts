import type { FleetPlan } from "../../provider/fleet/plan.js";
import type { FleetReport, StackReport, WebhookChange } from "../../provider/fleet/reports.js";
import type { DriftReport } from "../../provider/fleet/watch.js";

/** Returns a report that contains, for each kind of change, as many webhooks as `counts` says. */
export function stackReport(
  stack: string,
  counts: Partial<Record<WebhookChange, number>>,
  more: Partial<StackReport> = {},
): StackReport {
  const webhooks = (Object.keys(counts) as WebhookChange[]).flatMap((change) =>
    Array.from({ length: counts[change] ?? 0 }, (_, index) => ({
      workspace: `${stack}-${change}-${index}`,
      change,
    })),
  );
  const nothing = { failures: [], keys: [] };
  return { stack, outcome: "done", seconds: 2.04, webhooks, ...nothing, ...more };
}

const STACKS = [
  stackReport("production-0-of-2", { create: 3, same: 1 }),
  stackReport("production-1-of-2", { update: 2 }),
];

export const fleetReport = (more: Partial<FleetReport> = {}): FleetReport => ({
  fleet: "production",
  action: "up",
  outcome: "done",
  startedAt: "2026-11-21T22:00:00.000Z",
  seconds: 12.34,
  stacks: STACKS,
  skipped: [],
  failures: [],
  ...more,
});

export const fleetPlan = (more: Partial<FleetPlan> = {}): FleetPlan => ({
  ...fleetReport(),
  action: "plan",
  creates: { free: 1, adopted: 1, taken: 1, unknown: 0 },
  removals: ["initech"],
  index: "current",
  ...more,
});

export const driftReport = (more: Partial<DriftReport>): DriftReport => {
  const { stacks: _, ...report } = fleetReport();
  return { ...report, action: "watch", outcome: "drift", checked: 60, workspaces: [], ...more };
};
