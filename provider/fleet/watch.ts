import { formatUrl } from "../lib/url.js";
import type { RunOptions } from "./options.js";
import type { PlacedStack } from "./placement.js";
import type { Drift, FleetReport, OtherChange, StackReport, WebhookReport } from "./reports.js";
import { announce, beginRun, runStacks, type FleetContext, type Run } from "./run.js";

/** How a workspace differs. For `not-deployed` and `to-be-removed`, the list has changed since the last `up`. */
export type DriftKind = Drift["kind"] | "not-deployed" | "to-be-removed";

/** One workspace that differs from the definition and the state. */
export interface DriftedWorkspace {
  /** The workspace's name. */
  workspace: string;
  /** The stack that has it, or would have it. */
  stack: string;
  /** How it differs. */
  kind: DriftKind;
  /** Where it is registered; absent if it left the list. Values of a query are hidden. */
  baseUrl?: string;
  /** Empty for `not-deployed` and `to-be-removed`. */
  properties: Drift["properties"];
}

/** A resource that is not a webhook, such as a key, and that an `up` would change. */
export interface DriftedResource extends OtherChange {
  /** The stack that has it. */
  stack: string;
}

/** The result of a watch. Contains no secrets. */
export interface DriftReport extends Omit<FleetReport<"watch">, "outcome" | "stacks"> {
  /** `failed`: not everything could be inspected; there may be drift as well. */
  outcome: "no-drift" | "drift" | "failed";
  /** Those that differ, by name. */
  workspaces: DriftedWorkspace[];
  /** Other differences, by name, without those that come with one of these workspaces. */
  others: DriftedResource[];
  /** How many deployed webhooks were inspected, with and without drift. */
  checked: number;
}

/**
 * Checks whether the service, the stacks and the list agree. Changes nothing, neither at the service nor in the stacks. Throws
 * `invalid_config` if the backend has stacks of another split.
 */
export async function watchFleet(context: FleetContext, options: RunOptions = {}): Promise<DriftReport> {
  const run = await beginRun(context, "watch", options);
  // A preview creates a missing stack, so those that do not exist yet are reported without one.
  const stacks = run.stacks.filter(({ name }) => run.existing.has(name));
  announce(run, stacks);
  const {
    stacks: seen,
    outcome,
    ...report
  } = await runStacks(run, stacks, { action: "preview", refresh: true });
  const missing = run.stacks.filter(({ name }) => !run.existing.has(name)).map(toUndeployed);
  const workspaces = findDrift(run, [...seen, ...missing]);
  const others = findOthers(seen, workspaces);
  const hasDrift = workspaces.length + others.length > 0;
  return {
    ...report,
    // What was not inspected may have drifted.
    outcome: outcome !== "done" ? "failed" : hasDrift ? "drift" : "no-drift",
    workspaces,
    others,
    checked: seen.reduce((sum, one) => sum + countChecked(one), 0),
  };
}

/** A key that is not deployed, and the like, comes with its webhook. */
function findOthers(seen: readonly StackReport[], found: readonly DriftedWorkspace[]): DriftedResource[] {
  const reported = new Set(found.map(({ stack, workspace }) => `${stack} ${workspace}`));
  return seen
    .flatMap(({ stack, others }) => others.map((one) => ({ ...one, stack })))
    .filter(({ stack, name }) => !reported.has(`${stack} ${name}`))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

type Seen = Pick<StackReport, "stack" | "webhooks">;

/** What a preview of a stack that does not exist yet would report. */
const toUndeployed = ({ name: stack, workspaces }: PlacedStack): Seen => ({
  stack,
  webhooks: workspaces.map(({ name: workspace }) => ({ workspace, change: "create" })),
});

function findDrift({ fleet }: Run, seen: readonly Seen[]): DriftedWorkspace[] {
  const listed = new Map(fleet.workspaces.map(({ name, baseUrl }) => [name, baseUrl]));
  return seen
    .flatMap(({ stack, webhooks }) => webhooks.map((webhook) => ({ stack, webhook })))
    .flatMap(({ stack, webhook }) => {
      const { workspace, drift } = webhook;
      const baseUrl = listed.get(workspace);
      const kind = kindOf(webhook, baseUrl !== undefined);
      if (kind === undefined) return [];
      const at = baseUrl === undefined ? {} : { baseUrl: formatUrl(baseUrl) };
      return [{ workspace, stack, kind, ...at, properties: drift?.properties ?? [] }];
    })
    .toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1));
}

/** Drift takes precedence: a webhook that is gone at the service also shows as a create, although it is deployed. */
function kindOf({ drift, change }: WebhookReport, isListed: boolean): DriftKind | undefined {
  if (drift && (isListed || change !== "delete")) return drift.kind;
  if (change === "delete") return "to-be-removed";
  return change === "same" ? undefined : "not-deployed";
}

/** A webhook to be created that has no drift is not in the state yet, so there is nothing to check. */
function countChecked({ webhooks, failures }: StackReport): number {
  const failed = new Set(failures.map(({ workspace }) => workspace));
  return webhooks.filter(
    ({ workspace, change, drift }) => !failed.has(workspace) && (change !== "create" || drift !== undefined),
  ).length;
}
