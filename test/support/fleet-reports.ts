import type { FleetPlan } from "../../provider/fleet/plan.js";
import type { FleetReport, StackReport, WebhookChange } from "../../provider/fleet/reports.js";

/** As many webhooks as `counts` says of each change. */
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
  return { stack, outcome: "done", seconds: 2.04, webhooks, failures: [], notes: [], ...more };
}

export const fleetReport = (more: Partial<FleetReport> = {}): FleetReport => ({
  fleet: "production",
  action: "up",
  outcome: "done",
  startedAt: "2026-11-21T22:00:00.000Z",
  seconds: 12.34,
  stacks: [
    stackReport("production-0-of-2", { create: 3, same: 1 }),
    stackReport("production-1-of-2", { update: 2 }),
  ],
  skipped: [],
  failures: [],
  ...more,
});

const NOTHING = { create: 0, update: 0, delete: 0, same: 0, others: 0, randomKeys: 0, failures: [] };

export const fleetPlan = (more: Partial<FleetPlan> = {}): FleetPlan => ({
  fleet: "production",
  outcome: "done",
  seconds: 3.21,
  stacks: [
    { ...NOTHING, stack: "production-0-of-2", outcome: "done", create: 3, same: 1 },
    { ...NOTHING, stack: "production-1-of-2", outcome: "done", update: 2, delete: 1 },
  ],
  totals: { create: 3, update: 2, delete: 1, same: 1 },
  others: [],
  takenOver: 0,
  creates: { free: 1, adopted: 1, taken: 1, unknown: 0 },
  unknownReasons: [],
  removals: ["initech"],
  index: "current",
  failures: [],
  skipped: [],
  ...more,
});
