import { RegistrationClient } from "../client/registration-client.js";
import { ApiChatError, type ApiChatErrorCode } from "../errors/index.js";
import { isSameUrl } from "../lib/url.js";
import { getWebhookIfAny } from "../webhook/lifecycle.js";
import { toFailure } from "./failures.js";
import { findRemovals, isStale, readIndex, refuseLostStacks } from "./index-stack.js";
import type { PlanOptions } from "./options.js";
import {
  WEBHOOK_CHANGES,
  type Failure,
  type FleetReport,
  type OtherChange,
  type StackReport,
  type WebhookChange,
  type WebhookReport,
} from "./reports.js";
import { announce, beginRun, runStacks, stopAfter, toReport, type FleetContext, type Run } from "./run.js";
import { findDeployable } from "./up.js";
import { countRandomKeys, webhooksOf } from "./webhooks.js";

/** How many webhooks get which change. */
export type ChangeCounts = Record<WebhookChange, number>;

/** How many resources of a kind that are not webhooks get a change. */
export interface OtherCount {
  kind: "key" | "other resource";
  change: OtherChange["change"];
  count: number;
}

export interface PlannedStack extends ChangeCounts, Pick<StackReport, "stack" | "outcome" | "failures"> {
  /** How many resources that are not webhooks change. */
  others: number;
  /** How many random keys it has: with one, the state is written after each resource, because a killed run would lose it. */
  randomKeys: number;
}

/**
 * What is registered where a webhook would be created. `free`: nothing. `adopted`: our URL, which `up` leaves as it is.
 * `taken`: a different URL, so that `up` fails there or takes over, as `onExisting` says. `unknown`: the service did not respond,
 * or there is no API key.
 */
export type CreateCounts = Record<"free" | "adopted" | "taken" | "unknown", number>;

/** Why it is unknown what is registered at `count` workspaces. Contains no URLs and no names. */
export interface UnknownReason {
  reason: string;
  /** The error code of the failed call; absent where there was no call. */
  code?: ApiChatErrorCode;
  count: number;
}

/** What an `up` would do. */
export interface FleetPlan extends Pick<
  FleetReport,
  "fleet" | "seconds" | "skipped" | "failures" | "stoppedBy" | "outcome"
> {
  stacks: PlannedStack[];
  totals: ChangeCounts;
  /** The changes of resources that are not webhooks. */
  others: OtherCount[];
  creates: CreateCounts;
  /** The most frequent first. */
  unknownReasons: UnknownReason[];
  /** How many workspaces somebody else has taken over, as a plan with `refresh` shows: `up` fails there. */
  takenOver: number;
  /** The workspaces that left the list, by name. */
  removals: string[];
  /** `stale`: the index stack does not match the stacks, because a run was killed before writing it. `up` updates it. */
  index: "current" | "stale";
}

/** Previews every stack that `up` would run, and queries the service where a webhook would be created. Changes nothing. */
export async function planFleet(context: FleetContext, options: PlanOptions): Promise<FleetPlan> {
  const { refresh = false } = options;
  const run = await beginRun(context, "plan", options);
  const index = await readIndex(run);
  refuseLostStacks(run, index);
  const deployable = findDeployable(run);
  announce(run, deployable);
  const ran = await runStacks(run, deployable, { action: "preview", refresh });
  const { failures, ...seen } = await observeCreates(run, ran.stacks);
  const webhooks = ran.stacks.flatMap((stack) => stack.webhooks);
  const deleted = webhooks.filter(({ change }) => change === "delete").map(({ workspace }) => workspace);
  const stoppedBy = run.stop.why;
  const { action: _action, startedAt: _startedAt, ...report } = toReport(run, ran);
  return {
    ...report,
    ...seen,
    // A rejected key wins over the stop that follows from it.
    outcome: failures.length > 0 ? "failed" : stoppedBy === undefined ? ran.outcome : "stopped",
    stacks: ran.stacks.map((stack) => toPlannedStack(run, stack, failures)),
    failures: [...ran.failures, ...failures],
    ...(stoppedBy && { stoppedBy }),
    totals: countChanges(webhooks),
    others: countOthers(ran.stacks.flatMap(({ others = [] }) => others)),
    takenOver: webhooks.filter(({ drift }) => drift?.kind === "taken-over").length,
    removals: [...new Set([...findRemovals(run, index), ...deleted])].toSorted(),
    index: isStale(index, ran.stacks) ? "stale" : "current",
  };
}

function toPlannedStack(run: Run, report: StackReport, seen: readonly Failure[]): PlannedStack {
  const { stack, outcome, webhooks, others = [], failures } = report;
  const places = run.stacks.filter(({ name }) => name === stack);
  const own = seen.filter((failure) => failure.stack === stack);
  return {
    stack,
    outcome: own.length > 0 ? "failed" : outcome,
    ...countChanges(webhooks),
    others: others.length,
    randomKeys: countRandomKeys(webhooksOf(places, run.webhooks)),
    failures: [...failures, ...own],
  };
}

const countChanges = (webhooks: readonly WebhookReport[]): ChangeCounts => {
  const counts = WEBHOOK_CHANGES.map((one) => [one, webhooks.filter(({ change }) => change === one).length]);
  return Object.fromEntries(counts) as ChangeCounts;
};

/** The last part of a type is the name of the class. */
const kindOf = ({ type }: OtherChange): OtherCount["kind"] =>
  type.endsWith(":VerificationKey") ? "key" : "other resource";

const countOthers = (others: readonly OtherChange[]): OtherCount[] =>
  [...Map.groupBy(others, (other) => `${other.change} ${kindOf(other)}`)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, group]) =>
      group.slice(0, 1).map((one) => ({ kind: kindOf(one), change: one.change, count: group.length })),
    );

/** What one call showed. `failure`: the `up` would fail for the same reason. */
interface Seen {
  state: keyof CreateCounts;
  /** Why it is unknown. */
  cause?: Omit<UnknownReason, "count">;
  failure?: Failure;
}

const unknown = (reason: string): Seen => ({ state: "unknown", cause: { reason } });

/**
 * Queries each workspace where a webhook would be created, and counts. Names nobody's registration. Ends early when there are too
 * many failures: a wrong key is wrong for all.
 */
async function observeCreates(
  run: Run,
  stacks: readonly StackReport[],
): Promise<Pick<FleetPlan, "creates" | "unknownReasons" | "failures">> {
  const failures: Failure[] = [];
  const observe = async (stack: string, { workspace }: WebhookReport): Promise<Seen> => {
    const seen = await observeCreate(run, { stack, workspace });
    if (seen.failure === undefined) return seen;
    failures.push(seen.failure);
    run.stop.emit({ type: "failure", failure: seen.failure });
    stopAfter(run, failures.length);
    return seen;
  };
  const all = await Promise.all(
    stacks.flatMap(({ stack, webhooks }) =>
      webhooks.filter(({ change }) => change === "create").map((webhook) => observe(stack, webhook)),
    ),
  );
  const creates: CreateCounts = { free: 0, adopted: 0, taken: 0, unknown: 0 };
  for (const { state } of all) creates[state] += 1;
  const causes = all.flatMap(({ cause }) => cause ?? []);
  const unknownReasons = [...Map.groupBy(causes, ({ reason }) => reason).values()]
    .flatMap((group) => group.slice(0, 1).map((cause) => ({ ...cause, count: group.length })))
    .toSorted((a, b) => b.count - a.count);
  return { creates, unknownReasons, failures };
}

async function observeCreate(
  { engine, stop: { signal }, webhooks }: Run,
  where: { stack: string; workspace: string },
): Promise<Seen> {
  const args = webhooks.get(where.workspace);
  const apiKey = args?.apiKey ?? engine.apiKey;
  if (signal.aborted) return NOT_ASKED;
  if (args === undefined || apiKey === undefined) return NO_KEY;
  try {
    const client = new RegistrationClient({ baseUrl: args.baseUrl, apiKey, signal });
    const registration = await getWebhookIfAny(client);
    if (registration === undefined) return { state: "free" };
    return { state: isSameUrl(registration.webhookUrl, args.webhookUrl) ? "adopted" : "taken" };
  } catch (error) {
    if (signal.aborted) return NOT_ASKED;
    if (!(error instanceof ApiChatError)) throw error;
    const { code, httpStatus } = error;
    const reason = httpStatus === undefined ? code : `${code} (HTTP ${httpStatus})`;
    // A key that is rejected now is rejected by the `up` too; anything else may have passed by then.
    const failure = code === "unauthorized" ? toFailure(error.toJSON(), where) : undefined;
    return { state: "unknown", cause: { reason, code }, ...(failure && { failure }) };
  }
}

const NOT_ASKED = unknown("not asked: the plan was stopped");
const NO_KEY = unknown("no API key in the list or the environment");
