import { RegistrationClient } from "../client/index.js";
import { ApiChatError } from "../errors/index.js";
import { isSameUrl } from "../lib/url.js";
import { getWebhookIfAny } from "../registration/index.js";
import type { WebhookArguments } from "./definition.js";
import { toFailure } from "./failures.js";
import { findRemovals, isStale, openIndex, rejectTooManyRemovals } from "./index-stack.js";
import type { UpOptions } from "./options.js";
import type { FleetFailure, FleetReport, StackReport } from "./reports.js";
import { beginRun, noteFailure, runStacks, toFleetReport, type FleetContext, type FleetRun } from "./run.js";

/**
 * What is registered in the workspaces whose webhook would be created. `free`: nothing. `adopted`: our URL, which `up`
 * keeps. `taken`: a different URL, so `up` fails there or takes over, depending on `onExisting`. `unknown`: a failure
 * says why, or the plan was stopped.
 */
export type CreateCounts = Record<"free" | "adopted" | "taken" | "unknown", number>;

/** What an `up` would do. */
export interface FleetPlan extends FleetReport<"plan"> {
  /** How many webhooks would be created, grouped by what is registered in their workspaces now. */
  creates: CreateCounts;
  /** The names of the workspaces that left the list, sorted. */
  removals: string[];
  /** `stale`: the index does not match the stacks, because a run was killed. `up` updates the index. */
  index: "current" | "stale";
}

/** Throws `invalid_config` if more workspaces would be removed than `up` may remove. */
export async function planFleet(context: FleetContext, options: UpOptions): Promise<FleetPlan> {
  const run = await beginRun(context, "plan", options);
  const { refresh, maxRemovals } = run.options;
  const index = await openIndex(run);
  const ran = await runStacks(run, { action: "preview", refresh });
  const webhooks = ran.stacks.flatMap((stack) => stack.webhooks);
  const deleted = webhooks.filter(({ change }) => change === "delete").map(({ workspace }) => workspace);
  const removals = [...new Set([...findRemovals(run, index), ...deleted])].toSorted();
  // Checked again, because the index lacks some of these if a run was killed before it wrote the index.
  rejectTooManyRemovals(removals, maxRemovals);
  const { creates, failures } = await observeCreates(run, ran.stacks);
  const report = toFleetReport(run, ran, failures);
  const stoppedBy = run.stop.why;
  return {
    ...report,
    ...(stoppedBy !== undefined && { outcome: "stopped", stoppedBy }),
    creates,
    removals,
    index: isStale(index, ran.stacks) ? "stale" : "current",
  };
}

/** Ends early after too many failures, because a wrong API key would fail in every workspace. */
async function observeCreates(
  run: FleetRun,
  stacks: readonly StackReport[],
): Promise<Pick<FleetPlan, "creates" | "failures">> {
  const { signal } = run.stop;
  const creates: CreateCounts = { free: 0, adopted: 0, taken: 0, unknown: 0 };
  const failures: FleetFailure[] = [];
  const observe = async (where: { stack: string; workspace: string }): Promise<void> => {
    const args = run.webhooks.get(where.workspace);
    try {
      creates[args === undefined || signal.aborted ? "unknown" : await observeCreate(args, run)] += 1;
    } catch (error) {
      creates.unknown += 1;
      if (signal.aborted) return;
      if (!(error instanceof ApiChatError)) throw error;
      const failure = toFailure(error.toJSON(), where);
      failures.push(failure);
      noteFailure(run, failure, failures.length);
    }
  };
  const created = stacks.flatMap(({ stack, webhooks }) =>
    webhooks.flatMap(({ workspace, change }) => (change === "create" ? [{ stack, workspace }] : [])),
  );
  await Promise.all(created.map(observe));
  return { creates, failures };
}

async function observeCreate(
  { baseUrl, apiKey, webhookUrl }: WebhookArguments,
  { engine, stop: { signal } }: FleetRun,
): Promise<keyof CreateCounts> {
  const client = new RegistrationClient({ baseUrl, apiKey: apiKey ?? engine.apiKey ?? "", signal });
  const registration = await getWebhookIfAny(client);
  if (registration === undefined) return "free";
  return isSameUrl(registration.webhookUrl, webhookUrl) ? "adopted" : "taken";
}
