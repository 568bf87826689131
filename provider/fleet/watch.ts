import { removalCommand, type Failure as ErrorData } from "../errors/index.js";
import { formatUrl } from "../lib/url.js";
import type { WatchOptions } from "./options.js";
import type { PlacedStack } from "./placement.js";
import type { Drift, Failure, FleetReport, OtherChange, StackReport, WebhookReport } from "./reports.js";
import { announce, beginRun, runStacks, secondsSince, type FleetContext, type StacksRun } from "./run.js";

/** One workspace that is not as the definition and the state have it. */
export interface DriftedWorkspace {
  workspace: string;
  stack: string;
  /** `not-deployed` and `to-be-removed`: the definition has changed since the last `up`. */
  kind: DriftKind;
  /** Empty for `not-deployed` and `to-be-removed`. */
  properties: Drift["properties"];
  /** What to do about it, with the command. */
  repair: string;
}

/** A resource that is not a webhook, and that an `up` would change, such as a key. */
export interface DriftedResource extends OtherChange {
  stack: string;
  kind: "other";
  repair: string;
}

/** What a watch saw. No secret is in it. */
export interface DriftReport extends Pick<FleetReport, "fleet" | "seconds" | "skipped" | "stoppedBy"> {
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
export async function watchFleet(
  context: FleetContext,
  { command = DEFAULT_COMMAND, ...options }: WatchOptions = {},
): Promise<DriftReport> {
  const run = await beginRun(context, "watch", options);
  // A preview makes a stack that is missing, so those that do not exist yet are reported without one.
  const stacks = run.stacks.filter(({ name }) => run.existing.has(name));
  announce(run, stacks);
  const ran = await runStacks(
    run,
    stacks.map((stack) => ({ action: "preview", stack, refresh: true, expectNoChanges: true })),
  );
  const found = [
    ...ran.stacks.flatMap((report) => findDrift(stacks, report)),
    ...findUndeployed(run.stacks.filter(({ name }) => !run.existing.has(name))),
  ];
  const others = findOthers(ran, found);
  const { skipped, failures, stoppedBy } = ran;
  return {
    fleet: run.fleet.name,
    checkedAt: new Date(run.startedAt).toISOString(),
    seconds: secondsSince(run.startedAt),
    outcome: judge(ran, found.length + others.length),
    workspaces: found
      .map(({ removal, ...one }) => ({
        ...one,
        repair: REPAIRS[one.kind](command, removal),
      }))
      .toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1)),
    others: others.map((one) => ({ ...one, kind: "other", repair: REPAIRS.other(command) })),
    checked: ran.stacks.flatMap(findChecked).length,
    failures: failures.map((failure) => ({ ...failure, repair: hintOf(failure)(command) })),
    skipped,
    ...(stoppedBy === undefined ? {} : { stoppedBy }),
  };
}

interface Found extends Omit<DriftedWorkspace, "repair"> {
  /** Removes what is registered there. */
  removal?: string;
}

/** A failure wins: what was not looked at may have drifted. */
function judge(run: StacksRun, differences: number): DriftReport["outcome"] {
  if (run.outcome !== "done") return "failed";
  return differences > 0 ? "drift" : "no-drift";
}

/** The key of a workspace that is not deployed, and the like, comes with its webhook. */
function findOthers({ stacks }: StacksRun, found: readonly Found[]): (OtherChange & { stack: string })[] {
  const reported = new Set(found.map(({ stack, workspace }) => `${stack} ${workspace}`));
  return stacks
    .flatMap(({ stack, others = [] }) => others.map((one) => ({ ...one, stack })))
    .filter(({ stack, name }) => !reported.has(`${stack} ${name}`))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function findDrift(stacks: readonly PlacedStack[], { stack, webhooks }: StackReport): Found[] {
  const place = stacks.find(({ name }) => name === stack);
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
        : { removal: removalCommand({ baseUrl: formatUrl(baseUrl), webhookUrl: formatUrl(url) }) };
    return [{ workspace, stack, kind, properties, ...removal }];
  });
}

/** Drift takes precedence: a webhook that is gone at the service also shows as a create, although it is deployed. */
function kindOf({ drift, change }: WebhookReport, isListed: boolean): DriftKind | undefined {
  if (drift && (isListed || change !== "delete")) return drift.kind;
  if (change === "delete") return "to-be-removed";
  return change === "same" ? undefined : "not-deployed";
}

/** The workspaces of stacks that do not exist yet. */
const findUndeployed = (stacks: readonly PlacedStack[]): Found[] =>
  stacks.flatMap(({ name: stack, workspaces }) =>
    workspaces.map(({ name }) => ({ workspace: name, stack, kind: "not-deployed", properties: [] })),
  );

/** A webhook to be created that has no drift is not in the state yet, so there is nothing to check. */
function findChecked({ webhooks, failures }: StackReport): WebhookReport[] {
  const failed = new Set(failures.map(({ workspace }) => workspace));
  return webhooks.filter(
    ({ workspace, change, drift }) => !failed.has(workspace) && (change !== "create" || drift !== undefined),
  );
}

/** How a workspace differs. Not the service but the list has gone on: `not-deployed`, `to-be-removed`. */
export type DriftKind = Drift["kind"] | "not-deployed" | "to-be-removed";

/** `other`: a resource that is no webhook. */
type RepairKind = DriftKind | "other";

/** A failure, and what to do about it. */
export interface HintedFailure extends Failure {
  repair: string;
}

/** How the fleet's command line is called, unless somebody says otherwise. */
const DEFAULT_COMMAND = "node fleet.ts";

/** What repairs a difference. `removal` removes the webhook of somebody else. */
const REPAIRS: Record<RepairKind, (command: string, removal?: string) => string> = {
  changed: (command) => `${command} up --refresh`,
  gone: (command) => `${command} up --refresh`,
  "taken-over": (command, removal = "") =>
    `find out whose the other webhook is; if it may go: ${removal}; then ${command} up --refresh`,
  other: (command) => `${command} up --refresh`,
  "not-deployed": (command) => `${command} up`,
  "to-be-removed": (command) => `${command} up, or put the workspace back into the list`,
};

type Repair = (command: string) => string;

const FIX_IT: Repair = (command) => `fix what the message says, then ${command} watch`;

/** What to do about a failure of a watch. */
const hintOf = ({ error, message }: Failure): Repair => (error ? hintOfError(error) : hintOfEngine(message));

function hintOfError({ code, httpStatus, hints }: ErrorData): Repair {
  if (hints.some(({ id }) => id === "other_workspace"))
    return (command) => `fix baseUrl or API key of this workspace in the list, then ${command} watch`;
  if (code === "unauthorized")
    return (command) =>
      `set the workspace's current API key (APICHAT_API_KEY, or apiKey or apiKeyEnv in the list), then run ${command} up`;
  if (httpStatus === 429)
    return (command) =>
      `the service is rate limiting: try again later with ${command} watch --calls-per-origin 2`;
  if (code === "unavailable" || code === "timeout")
    return (command) => `the service could not be asked: ${command} watch, when it is up`;
  return FIX_IT;
}

/** What the engine's own messages ask for: the first that fits. */
const ENGINE_HINTS: readonly [RegExp, Repair][] = [
  [
    /passphrase/i,
    (command) => `set PULUMI_CONFIG_PASSPHRASE to the passphrase of the stacks, then ${command} watch`,
  ],
  [
    /PULUMI_ACCESS_TOKEN|pulumi login/,
    (command) => `log in to the backend (PULUMI_ACCESS_TOKEN, or pulumi login), then ${command} watch`,
  ],
  [/Cannot find module|could not read plugin/, (command) => `npm ci, then ${command} watch`],
];

const hintOfEngine = (message: string): Repair =>
  ENGINE_HINTS.find(([pattern]) => pattern.test(message))?.[1] ?? FIX_IT;
