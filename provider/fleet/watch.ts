import { removalCommand } from "../errors/index.js";
import { listExisting, programTask } from "./existing-stacks.js";
import {
  DEFAULT_COMMAND,
  repairOf,
  toHinted,
  type DriftKind,
  type HintedFailure,
  type RepairKind,
} from "./repair.js";
import type { Drift, FleetReport, OtherChange, StackReport, WebhookReport } from "./reports.js";
import type { ResolvedFleet } from "./resolve.js";
import { withRun, type FleetContext } from "./run-context.js";
import type { RunOptions } from "./run-options.js";
import { secondsSince } from "./run-report.js";
import { runStacks, tellStart, type StacksRun } from "./run-stacks.js";

export interface WatchOptions extends RunOptions {
  /** How the fleet's command line is called, for what the report says to do. Default "node fleet.ts". */
  command?: string;
}

/** One workspace that is not as the list, the program and the state have it. */
export interface DriftedWorkspace {
  workspace: string;
  stack: string;
  /** `not-deployed` and `to-be-removed`: the list or the program has gone on since the last `up`. */
  kind: DriftKind;
  /** Empty for `not-deployed` and `to-be-removed`. */
  properties: Drift["properties"];
  /** What to do about it, with the command. */
  repair: string;
}

/** A resource that is no webhook, and that an `up` would change: a responder whose process is gone, for one. */
export interface DriftedResource extends OtherChange {
  stack: string;
  kind: "other";
  repair: string;
}

/** What a watch saw. No secret is in it. */
export interface DriftReport extends Pick<
  FleetReport,
  "fleet" | "seconds" | "skipped" | "stoppedBy" | "calls" | "answers429"
> {
  /** When it began. ISO 8601, UTC. */
  checkedAt: string;
  /** `failed`: not everything could be looked at; there may be drift beside it. */
  outcome: "no-drift" | "drift" | "failed";
  /** Those that differ, by name. */
  workspaces: DriftedWorkspace[];
  /** What differs besides, by name. What belongs to one of those workspaces is left out. */
  others: DriftedResource[];
  /** How many deployed webhooks were looked at, with and without drift. */
  checked: number;
  failures: HintedFailure[];
}

/**
 * Looks whether the service, the stacks and the list agree, and says what repairs where they do not. Changes nothing, neither
 * at the service nor in the stacks. Throws `invalid_config` if the backend has stacks of another split.
 */
export function watchFleet(
  context: FleetContext,
  { command = DEFAULT_COMMAND, ...options }: WatchOptions = {},
): Promise<DriftReport> {
  const { fleet } = context;
  return withRun(context, { action: "watch", options }, async (run) => {
    // A preview makes a stack that is missing, so those that are not there yet are told without one.
    const existing = await listExisting(run);
    const tasks = fleet.stacks
      .filter(({ name }) => existing.has(name))
      .map((stack) => programTask(fleet, stack, { action: "preview", refresh: true, expectNoChanges: true }));
    tellStart(run, tasks, options);
    const stacks = await runStacks(run, tasks, options);
    const found = [
      ...stacks.stacks.flatMap((report) => findDrift(fleet, report)),
      ...findUndeployed(fleet, existing),
    ];
    return { ...toDriftReport(stacks, found, command), fleet: fleet.name, ...timesOf(run.startedAt) };
  });
}

const timesOf = (startedAt: number): Pick<DriftReport, "checkedAt" | "seconds"> => ({
  checkedAt: new Date(startedAt).toISOString(),
  seconds: secondsSince(startedAt),
});

interface Found extends Omit<DriftedWorkspace, "repair"> {
  /** Removes what is registered there. */
  removal?: string;
}

function toDriftReport(
  run: StacksRun,
  found: readonly Found[],
  command: string,
): Omit<DriftReport, "fleet" | "checkedAt" | "seconds"> {
  const { skipped, stoppedBy, calls, answers429 } = run;
  const others = findOthers(run, found);
  return {
    outcome: judge(run, found.length + others.length),
    workspaces: found
      .map(({ removal, ...one }) => ({
        ...one,
        repair: repairOf(repairKindOf(one, others), command, removal),
      }))
      .toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1)),
    others: others.map((one) => ({ ...one, kind: "other", repair: repairOf("other", command) })),
    checked: run.stacks.flatMap(findChecked).length,
    failures: run.failures.map((failure) => toHinted(failure, command)),
    skipped,
    ...(stoppedBy === undefined ? {} : { stoppedBy }),
    calls,
    answers429,
  };
}

/** A failure wins: what was not looked at may have drifted. */
function judge(run: StacksRun, differences: number): DriftReport["outcome"] {
  if (run.outcome !== "done") return "failed";
  return differences > 0 ? "drift" : "no-drift";
}

/** What a responder that is gone changes in webhooks, only a run that looks first sees. */
const repairKindOf = ({ kind, stack }: Found, others: readonly { stack: string }[]): RepairKind =>
  kind === "not-deployed" && others.some((one) => one.stack === stack) ? "other" : kind;

/** The key of a workspace that is not deployed, and the like, comes with its webhook. */
function findOthers({ stacks }: StacksRun, found: readonly Found[]): (OtherChange & { stack: string })[] {
  const told = new Set(found.map(({ stack, workspace }) => `${stack} ${workspace}`));
  return stacks
    .flatMap(({ stack, others = [] }) => others.map((one) => ({ ...one, stack })))
    .filter(({ stack, name }) => !told.has(`${stack} ${name}`))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function findDrift(fleet: ResolvedFleet, { stack, webhooks }: StackReport): Found[] {
  const place = fleet.stacks.find(({ name }) => name === stack);
  const listed = new Map(place?.workspaces.map((listing) => [listing.name, listing]));
  return webhooks.flatMap((webhook) => {
    const { workspace, drift } = webhook;
    const kind = kindOf(webhook, listed.has(workspace));
    if (kind === undefined) return [];
    const properties = drift?.properties ?? [];
    const url = properties.find(({ property }) => property === "webhookUrl")?.actual;
    const baseUrl = listed.get(workspace)?.baseUrl;
    const removal =
      baseUrl === undefined || url === undefined
        ? {}
        : { removal: removalCommand({ baseUrl, webhookUrl: url }) };
    return [{ workspace, stack, kind, properties, ...removal }];
  });
}

/** What the service shows comes first: a webhook that is gone would be created too, and is deployed all the same. */
function kindOf({ drift, change }: WebhookReport, isListed: boolean): DriftKind | undefined {
  if (drift && (isListed || change !== "delete")) return drift.kind;
  if (change === "delete") return "to-be-removed";
  return change === "same" ? undefined : "not-deployed";
}

/** The workspaces of stacks that do not exist yet. */
const findUndeployed = (fleet: ResolvedFleet, existing: ReadonlySet<string>): Found[] =>
  fleet.stacks
    .filter(({ name }) => !existing.has(name))
    .flatMap(({ name: stack, workspaces }) =>
      workspaces.map(({ name }) => ({ workspace: name, stack, kind: "not-deployed", properties: [] })),
    );

/** A webhook that is to be created, and is not gone, does not stand in the state: there is nothing to look at. */
function findChecked({ webhooks, failures }: StackReport): WebhookReport[] {
  const failed = new Set(failures.map(({ workspace }) => workspace));
  return webhooks.filter(
    ({ workspace, change, drift }) => !failed.has(workspace) && (change !== "create" || drift !== undefined),
  );
}
