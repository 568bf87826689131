import { formatUrl } from "../lib/url.js";
import type { RunOptions } from "./options.js";
import type { PlacedStack } from "./placement.js";
import type { Drift, FleetReport, StackReport, WebhookReport } from "./reports.js";
import { beginRun, runStacks, toFleetReport, type FleetContext, type FleetRun } from "./run.js";

/** How a workspace differs. For `not-deployed` and `to-be-removed`, the list has changed since the last `up`. */
export type DriftKind = Drift["kind"] | "not-deployed" | "to-be-removed";

/** One workspace that differs from the definition or the state. */
export interface DriftedWorkspace {
  /** The workspace's name. */
  workspace: string;
  /** The stack that contains the workspace, or would contain it. */
  stack: string;
  /** How it differs. */
  kind: DriftKind;
  /** The workspace's base URL, with query values hidden; absent if it left the list. */
  baseUrl?: string;
  /** Empty for `not-deployed` and `to-be-removed`. */
  properties: Drift["properties"];
}

/** The result of a watch. Contains no secrets. */
export interface DriftReport extends Omit<FleetReport<"watch">, "outcome" | "stacks"> {
  /** `failed`: not everything could be inspected; there may be drift as well. */
  outcome: "no-drift" | "drift" | "failed";
  /** The workspaces that differ, sorted by name. */
  workspaces: DriftedWorkspace[];
  /** How many deployed webhooks were inspected, with and without drift. */
  checked: number;
}

/** Changes nothing. Throws `invalid_config` if the number of stacks has changed. */
export async function watchFleet(context: FleetContext, options: RunOptions = {}): Promise<DriftReport> {
  const run = await beginRun(context, "watch", options);
  const { stacks, outcome, ...report } = toFleetReport(
    run,
    await runStacks(run, { action: "preview", refresh: true }),
  );
  // A preview would create a missing stack, so missing stacks are reported without a preview.
  const missing = run.stacks.filter(({ name }) => !run.existing.has(name)).map(toUndeployed);
  const workspaces = findDrift(run, [...stacks, ...missing]);
  return {
    ...report,
    // A workspace that was not inspected may have drifted.
    outcome: outcome !== "done" ? "failed" : workspaces.length > 0 ? "drift" : "no-drift",
    workspaces,
    checked: stacks.reduce((sum, one) => sum + countChecked(one), 0),
  };
}

type Seen = Pick<StackReport, "stack" | "webhooks" | "keys">;

const toUndeployed = ({ name: stack, workspaces }: PlacedStack): Seen => ({
  stack,
  webhooks: workspaces.map(({ name: workspace }) => ({ workspace, change: "create" })),
  keys: [],
});

function findDrift({ fleet }: FleetRun, seen: readonly Seen[]): DriftedWorkspace[] {
  const listed = new Map(fleet.workspaces.map(({ name, baseUrl }) => [name, baseUrl]));
  const found = new Map<string, DriftedWorkspace>();
  for (const { stack, webhooks, keys } of seen) {
    // Keys come first: if a webhook and its key both differ, the webhook's entry replaces the key's.
    const reports: WebhookReport[] = [...keys, ...webhooks];
    for (const { workspace, change, drift } of reports) {
      const baseUrl = listed.get(workspace);
      const kind = kindOf({ change, drift }, baseUrl !== undefined);
      if (kind === undefined) continue;
      const at = baseUrl === undefined ? {} : { baseUrl: formatUrl(baseUrl) };
      found.set(workspace, { workspace, stack, kind, ...at, properties: drift?.properties ?? [] });
    }
  }
  return [...found.values()].toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1));
}

/** Drift takes precedence: a webhook that is gone from the service also appears as a create, but it is deployed. */
function kindOf(
  { drift, change }: Pick<WebhookReport, "change"> & { drift: Drift | undefined },
  isListed: boolean,
): DriftKind | undefined {
  if (drift && (isListed || change !== "delete")) return drift.kind;
  if (change === "delete") return "to-be-removed";
  return change === "same" ? undefined : "not-deployed";
}

/** A webhook that is to be created and has no drift is not in the state yet, so it was not inspected. */
function countChecked({ webhooks, failures }: StackReport): number {
  const failed = new Set(failures.map(({ workspace }) => workspace));
  return webhooks.filter(
    ({ workspace, change, drift }) => !failed.has(workspace) && (change !== "create" || drift !== undefined),
  ).length;
}
