import { RegistrationClient } from "../client/index.js";
import type { ApiChatErrorCode } from "../errors/index.js";
import { ApiChatError } from "../errors/index.js";
import { isSameUrl } from "../lib/url.js";
import { getWebhookIfAny } from "../registration/index.js";
import { toFailure } from "./failures.js";
import { findRemovals, isStale, readIndex, refuseLostStacks } from "./index-stack.js";
import type { PlanOptions } from "./options.js";
import type { FleetFailure, FleetReport, StackReport, WebhookReport } from "./reports.js";
import { type FleetContext, type Run, announce, beginRun, runStacks, stopAfter, toReport } from "./run.js";
import { findDeployable } from "./up.js";
import { countRandomKeys } from "./webhooks.js";

/**
 * What is registered where a webhook would be created. `free`: nothing. `adopted`: our URL, which `up` leaves as it is.
 * `taken`: a different URL, so that `up` fails there or takes over, as `onExisting` says. `unknown`: the service did not respond,
 * or there is no API key.
 */
export type CreateCounts = Record<"free" | "adopted" | "taken" | "unknown", number>;

/** Why it is unknown what is registered at `count` workspaces. Contains no URLs and no names. */
export interface UnknownReason {
  /** What went wrong, in one line. */
  reason: string;
  /** The error code of the failed call; absent where there was no call. */
  code?: ApiChatErrorCode;
  /** How many workspaces it concerns. */
  count: number;
}

/** What an `up` would do. */
export interface FleetPlan extends FleetReport<"plan"> {
  /** How many webhooks would be created, by what is registered there now. */
  creates: CreateCounts;
  /** The most frequent first. */
  unknownReasons: UnknownReason[];
  /** How many random keys there are: with one, a state is written after each resource, because a killed run would lose it. */
  randomKeys: number;
  /** The workspaces that left the list, by name. */
  removals: string[];
  /** `stale`: the index stack does not match the stacks, because a run was killed before writing it. `up` updates it. */
  index: "current" | "stale";
}

/** Previews every stack that `up` would run, and queries the service where a webhook would be created. Changes nothing. */
export async function planFleet(context: FleetContext, options: PlanOptions): Promise<FleetPlan> {
  const run = await beginRun(context, "plan", options);
  const index = await readIndex(run);
  refuseLostStacks(run, index);
  const deployable = findDeployable(run);
  announce(run, deployable);
  const ran = await runStacks(run, deployable, { action: "preview", refresh: run.options.refresh });
  const { failures, ...seen } = await observeCreates(run, ran.stacks);
  const webhooks = ran.stacks.flatMap((stack) => stack.webhooks);
  const deleted = webhooks.filter(({ change }) => change === "delete").map(({ workspace }) => workspace);
  const stoppedBy = run.stop.why;
  return {
    ...toReport(run, ran),
    ...seen,
    // A rejected key wins over the stop that follows from it.
    outcome: failures.length > 0 ? "failed" : stoppedBy === undefined ? ran.outcome : "stopped",
    failures: [...ran.failures, ...failures],
    ...(stoppedBy && { stoppedBy }),
    randomKeys: countRandomKeys(run.webhooks),
    removals: [...new Set([...findRemovals(run, index), ...deleted])].toSorted(),
    index: isStale(index, ran.stacks) ? "stale" : "current",
  };
}

/** What one call showed: if it is unknown, why, and the failure that an `up` would have for the same reason. */
interface Seen extends Partial<Omit<UnknownReason, "count">> {
  state: keyof CreateCounts;
  failure?: FleetFailure;
}

/**
 * Queries each workspace where a webhook would be created, and counts. Names nobody's registration. Ends early when there are too
 * many failures: a wrong key is wrong for all.
 */
async function observeCreates(
  run: Run,
  stacks: readonly StackReport[],
): Promise<Pick<FleetPlan, "creates" | "unknownReasons" | "failures">> {
  const failures: FleetFailure[] = [];
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
  const unknown = all.filter(({ state }) => state === "unknown");
  const unknownReasons = [...Map.groupBy(unknown, ({ reason = "" }) => reason)]
    .map(([reason, [{ code } = {}, ...others]]) => ({
      reason,
      ...(code && { code }),
      count: others.length + 1,
    }))
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
    return { state: "unknown", reason, code, ...(failure && { failure }) };
  }
}

const NOT_ASKED: Seen = { state: "unknown", reason: "not asked: the plan was stopped" };
const NO_KEY: Seen = { state: "unknown", reason: "no API key in the list or the environment" };
