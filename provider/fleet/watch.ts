import { removalCommand } from "../errors/index.js";
import { formatUrl } from "../lib/url.js";
import type { WatchOptions } from "./options.js";
import type { PlacedStack } from "./placement.js";
import type { Drift, FleetReport, OtherChange, StackReport, WebhookReport } from "./reports.js";
import {
  announce,
  beginRun,
  runStacks,
  toReport,
  type FleetContext,
  type Run,
  type StacksRun,
} from "./run.js";

/** How a workspace differs. For `not-deployed` and `to-be-removed`, the list has changed since the last `up`. */
export type DriftKind = Drift["kind"] | "not-deployed" | "to-be-removed";

/** One workspace that differs from the definition and the state. */
export interface DriftedWorkspace {
  workspace: string;
  stack: string;
  kind: DriftKind;
  /** Empty for `not-deployed` and `to-be-removed`. */
  properties: Drift["properties"];
  /** What to do about it, with the command. */
  repair: string;
}

/** A resource that is not a webhook, such as a key, and that an `up` would change. */
export interface DriftedResource extends OtherChange {
  stack: string;
  kind: "other";
  repair: string;
}

/** The result of a watch. Contains no secrets. */
export interface DriftReport extends Pick<
  FleetReport,
  "fleet" | "seconds" | "skipped" | "failures" | "stoppedBy"
> {
  /** When it began. ISO 8601, UTC. */
  checkedAt: string;
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
 * Checks whether the service, the stacks and the list agree, and says how to repair what differs. Changes nothing, neither
 * at the service nor in the stacks. Throws `invalid_config` if the backend has stacks of another split.
 */
export async function watchFleet(context: FleetContext, options: WatchOptions = {}): Promise<DriftReport> {
  const { command = "node fleet.ts" } = options;
  const run = await beginRun(context, "watch", options);
  // A preview creates a missing stack, so those that do not exist yet are reported without one.
  const stacks = run.stacks.filter(({ name }) => run.existing.has(name));
  announce(run, stacks);
  const ran = await runStacks(run, stacks, { action: "preview", refresh: true });
  const missing = run.stacks.filter(({ name }) => !run.existing.has(name)).map(toUndeployed);
  const workspaces = [...ran.stacks, ...missing]
    .flatMap((report) => findDrift(run, report, command))
    .toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1));
  const others = findOthers(ran, workspaces, command);
  const hasDrift = workspaces.length + others.length > 0;
  const { action: _action, startedAt: checkedAt, stacks: _stacks, ...report } = toReport(run, ran);
  return {
    ...report,
    checkedAt,
    // What was not inspected may have drifted.
    outcome: ran.outcome !== "done" ? "failed" : hasDrift ? "drift" : "no-drift",
    workspaces,
    others,
    checked: ran.stacks.flatMap(findChecked).length,
  };
}

/** A key that is not deployed, and the like, comes with its webhook. */
function findOthers(
  { stacks }: StacksRun,
  found: readonly DriftedWorkspace[],
  command: string,
): DriftedResource[] {
  const reported = new Set(found.map(({ stack, workspace }) => `${stack} ${workspace}`));
  return stacks
    .flatMap(({ stack, others = [] }) => others.map((one) => ({ ...one, stack })))
    .filter(({ stack, name }) => !reported.has(`${stack} ${name}`))
    .map((one) => ({ ...one, kind: "other" as const, repair: `${command} up --refresh` }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** What a preview of a stack that does not exist yet would report. */
const toUndeployed = ({ name: stack, workspaces }: PlacedStack): Pick<StackReport, "stack" | "webhooks"> => ({
  stack,
  webhooks: workspaces.map(({ name: workspace }) => ({ workspace, change: "create" })),
});

function findDrift(
  { stacks }: Run,
  { stack, webhooks }: Pick<StackReport, "stack" | "webhooks">,
  command: string,
): DriftedWorkspace[] {
  const place = stacks.find(({ name }) => name === stack);
  const listed = new Map(place?.workspaces.map((entry) => [entry.name, entry]));
  return webhooks.flatMap((webhook) => {
    const { workspace, drift } = webhook;
    const entry = listed.get(workspace);
    const kind = kindOf(webhook, entry !== undefined);
    if (kind === undefined) return [];
    const properties = drift?.properties ?? [];
    const webhookUrl = properties.find(({ property }) => property === "webhookUrl")?.actual;
    const removal =
      entry && webhookUrl
        ? removalCommand({ baseUrl: formatUrl(entry.baseUrl), webhookUrl: formatUrl(webhookUrl) })
        : "";
    return [{ workspace, stack, kind, properties, repair: REPAIRS[kind](command, removal) }];
  });
}

/** Drift takes precedence: a webhook that is gone at the service also shows as a create, although it is deployed. */
function kindOf({ drift, change }: WebhookReport, isListed: boolean): DriftKind | undefined {
  if (drift && (isListed || change !== "delete")) return drift.kind;
  if (change === "delete") return "to-be-removed";
  return change === "same" ? undefined : "not-deployed";
}

/** A webhook to be created that has no drift is not in the state yet, so there is nothing to check. */
function findChecked({ webhooks, failures }: StackReport): WebhookReport[] {
  const failed = new Set(failures.map(({ workspace }) => workspace));
  return webhooks.filter(
    ({ workspace, change, drift }) => !failed.has(workspace) && (change !== "create" || drift !== undefined),
  );
}

/** What repairs a difference. `removal` removes somebody else's webhook. */
const REPAIRS: Record<DriftKind, (command: string, removal: string) => string> = {
  changed: (command) => `${command} up --refresh`,
  gone: (command) => `${command} up --refresh`,
  "taken-over": (command, removal) =>
    `find out whose the other webhook is; if it may be removed: ${removal}; then ${command} up --refresh`,
  "not-deployed": (command) => `${command} up`,
  "to-be-removed": (command) => `${command} up, or put the workspace back into the list`,
};
