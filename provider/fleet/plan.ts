import { RegistrationClient } from "../client/registration-client.js";
import { ApiChatError, type ApiChatErrorCode } from "../errors/index.js";
import { isSameUrl } from "../lib/url.js";
import { getWebhookIfAny } from "../webhook/lifecycle.js";
import { toFailure } from "./failures.js";
import { findRemovals, isStale, readIndex, refuseLostStacks } from "./index-stack.js";
import type { PlanOptions } from "./options.js";
import type {
  Failure,
  FleetReport,
  OtherChange,
  Outcome,
  StackReport,
  WebhookChange,
  WebhookReport,
} from "./reports.js";
import {
  announce,
  beginRun,
  describeTooMany,
  limitsOf,
  runStacks,
  secondsSince,
  type FleetContext,
  type Run,
} from "./run.js";
import { findDeployable } from "./up.js";
import { countRandomKeys, webhooksOf } from "./webhooks.js";

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
  /** How many random keys it has: with one, the state is written after each resource, because a killed run would lose it. */
  randomKeys: number;
  failures: Failure[];
}

/**
 * What is registered where a webhook would be created. `free`: nothing. `adopted`: our URL, so that `up` takes it as it is.
 * `taken`: another URL, so that `up` fails there or takes over, as `onExisting` says. `unknown`: the service did not respond, or
 * there is no API key.
 */
export type CreateCounts = Record<"free" | "adopted" | "taken" | "unknown", number>;

/** Why it is unknown what is registered at so many workspaces. No URL and no name is in it. */
export interface UnknownReason {
  reason: string;
  /** Of the failed call; absent where nobody asked. */
  code?: ApiChatErrorCode;
  count: number;
}

/** What an `up` would do. */
export interface FleetPlan extends Pick<FleetReport, "failures" | "skipped" | "stoppedBy"> {
  fleet: string;
  /** `failed` if the preview of a stack failed, or the service refuses an API key. */
  outcome: Outcome;
  seconds: number;
  stacks: PlannedStack[];
  totals: ChangeCounts;
  /** Which resources that are no webhooks change. */
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

/** Previews every stack that `up` would run, and asks the service where a webhook would be created. Changes nothing. */
export async function planFleet(context: FleetContext, options: PlanOptions): Promise<FleetPlan> {
  const run = await beginRun(context, "plan", options);
  const index = await readIndex(run);
  refuseLostStacks(run, index);
  const deployable = findDeployable(run);
  announce(run, deployable);
  const { refresh = false } = options;
  const ran = await runStacks(
    run,
    deployable.map((stack) => ({ action: "preview", stack, refresh })),
  );
  const seen = await observeCreates(run, ran.stacks);
  const webhooks = ran.stacks.flatMap((stack) => stack.webhooks);
  const deleted = webhooks.filter(({ change }) => change === "delete").map(({ workspace }) => workspace);
  const stoppedBy = run.stop.why;
  return {
    fleet: run.fleet.name,
    // A refused key wins over the stop that follows from it.
    outcome: seen.failures.length > 0 ? "failed" : stoppedBy === undefined ? ran.outcome : "stopped",
    seconds: secondsSince(run.startedAt),
    stacks: ran.stacks.map((report) => toPlannedStack(run, report, seen.failures)),
    skipped: ran.skipped,
    failures: [...ran.failures, ...seen.failures],
    ...(stoppedBy === undefined ? {} : { stoppedBy }),
    totals: countChanges(webhooks),
    others: countOthers(ran.stacks.flatMap(({ others = [] }) => others)),
    creates: seen.creates,
    unknownReasons: seen.unknownReasons,
    takenOver: webhooks.filter(({ drift }) => drift?.kind === "taken-over").length,
    removals: [...new Set([...findRemovals(run, index), ...deleted])].toSorted(),
    index: isStale(index, ran.stacks) ? "stale" : "current",
  };
}

function toPlannedStack(run: Run, report: StackReport, seen: readonly Failure[]): PlannedStack {
  const { stack, outcome, webhooks, others = [], failures } = report;
  const place = run.stacks.find(({ name }) => name === stack);
  const own = seen.filter((failure) => failure.stack === stack);
  return {
    stack,
    outcome: own.length > 0 ? "failed" : outcome,
    ...countChanges(webhooks),
    others: others.length,
    randomKeys: place === undefined ? 0 : countRandomKeys(webhooksOf(place, run.webhooks)),
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

const kindOf = ({ type }: OtherChange): OtherCount["kind"] =>
  KINDS[type.split(":").at(-1) ?? ""] ?? "other resource";

const countOthers = (others: readonly OtherChange[]): OtherCount[] =>
  [...Map.groupBy(others, (other) => `${other.change} ${kindOf(other)}`)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, group]) =>
      group.slice(0, 1).map((one) => ({ kind: kindOf(one), change: one.change, count: group.length })),
    );

/** A webhook that would be created, and its stack. */
interface Create {
  stack: string;
  webhook: WebhookReport;
}

/** What one call showed. `failure`: the `up` would fail for the same reason. */
type Seen =
  | { state: Exclude<keyof CreateCounts, "unknown"> }
  | { state: "unknown"; cause: Omit<UnknownReason, "count">; failure?: Failure };

const unknown = (reason: string): Seen => ({ state: "unknown", cause: { reason } });
const NOT_ASKED = unknown("not asked: the plan was stopped");
const NO_KEY = unknown("no API key in the list or the environment");

/**
 * Asks for each workspace where a webhook would be created, and counts. Nobody's registration is named. Ends early when the
 * failures are too many: a wrong key is wrong for all.
 */
async function observeCreates(
  run: Run,
  stacks: readonly StackReport[],
): Promise<Pick<FleetPlan, "creates" | "unknownReasons" | "failures">> {
  const failures: Failure[] = [];
  const { stopAfterFailures } = limitsOf(run.options);
  const creates = stacks.flatMap(({ stack, webhooks }) =>
    webhooks.filter(({ change }) => change === "create").map((webhook) => ({ stack, webhook })),
  );
  const all = await Promise.all(
    creates.map(async (create) => {
      const seen = await observeCreate(run, create);
      if (seen.state !== "unknown" || seen.failure === undefined) return seen;
      failures.push(seen.failure);
      run.stop.emit({ type: "failure", failure: seen.failure });
      if (failures.length >= stopAfterFailures) run.stop.stop(describeTooMany(stopAfterFailures));
      return seen;
    }),
  );
  return { ...countSeen(all), failures };
}

function countSeen(all: readonly Seen[]): Pick<FleetPlan, "creates" | "unknownReasons"> {
  const creates: CreateCounts = { free: 0, adopted: 0, taken: 0, unknown: 0 };
  for (const { state } of all) creates[state] += 1;
  const causes = all.flatMap((seen) => (seen.state === "unknown" ? [seen.cause] : []));
  const reasons = [...Map.groupBy(causes, ({ reason }) => reason).values()].flatMap((group) =>
    group.slice(0, 1).map((cause) => ({ ...cause, count: group.length })),
  );
  return { creates, unknownReasons: reasons.toSorted((a, b) => b.count - a.count) };
}

async function observeCreate(
  { engine, stop, webhooks }: Run,
  { stack, webhook: { workspace } }: Create,
): Promise<Seen> {
  const args = webhooks.get(workspace);
  const apiKey = args?.apiKey ?? engine.apiKey;
  if (stop.signal.aborted) return NOT_ASKED;
  if (args === undefined || apiKey === undefined) return NO_KEY;
  try {
    const client = new RegistrationClient({ baseUrl: args.baseUrl, apiKey, signal: stop.signal });
    const registration = await getWebhookIfAny(client);
    if (registration === undefined) return { state: "free" };
    return { state: isSameUrl(registration.webhookUrl, args.webhookUrl) ? "adopted" : "taken" };
  } catch (error) {
    if (stop.signal.aborted) return NOT_ASKED;
    if (!(error instanceof ApiChatError)) throw error;
    return explain(error, { workspace, stack });
  }
}

/** A key that is refused now is refused by the `up` too; anything else may have passed by then. */
function explain(error: ApiChatError, where: { workspace: string; stack: string }): Seen {
  const { code, httpStatus } = error;
  const cause = { reason: httpStatus === undefined ? code : `${code} (HTTP ${httpStatus})`, code };
  const failure = code === "unauthorized" ? { failure: toFailure(error.toJSON(), where) } : {};
  return { state: "unknown", cause, ...failure };
}
