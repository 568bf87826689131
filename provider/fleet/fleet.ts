import type { ListedWorkspace } from "../workspace-list/entry-shape.js";
import type { FleetDefinition } from "./definition.js";
import { destroyFleet } from "./destroy.js";
import { createWorkers } from "./engine/workers.js";
import { readIndex } from "./index-stack.js";
import { MOST_STACKS_AT_ONCE } from "./limits.js";
import { planFleet, type FleetPlan } from "./plan.js";
import { refreshFleet } from "./refresh.js";
import type { FleetReport } from "./reports.js";
import { resolveFleet, type ResolvedStack } from "./resolve.js";
import { rotateFleet, type RotationReport } from "./rotation.js";
import type { FleetContext } from "./run-context.js";
import type { PlanOptions, RotateOptions, RunOptions, UpOptions } from "./run-options.js";
import { upFleet } from "./up.js";
import { watchFleet, type DriftReport, type WatchOptions } from "./watch.js";

/**
 * A fleet that can be run. What goes wrong with a stack or a webhook is in the report; a run rejects with an `ApiChatError`
 * only for what was wrong before it began: `invalid_config`, or a backend that cannot be reached.
 */
export interface Fleet {
  readonly name: string;
  readonly project: string;
  /** The stack that exports the bot URLs. */
  readonly indexStack: string;
  readonly workspaces: readonly ListedWorkspace[];
  /** All of them, also those without workspaces. */
  readonly stacks: readonly ResolvedStack[];
  /** Tells what `up` would do. Changes nothing. */
  plan(options?: PlanOptions): Promise<FleetPlan>;
  /** Brings every stack to what the list says, and then the index stack. */
  up(options?: UpOptions): Promise<FleetReport>;
  /** Records in the stacks what the service shows. */
  refresh(options?: RunOptions): Promise<FleetReport>;
  /** Removes all webhooks and all stacks of the fleet. */
  destroy(options?: RunOptions): Promise<FleetReport>;
  /** Gives each workspace a new verification key, wave by wave; each wave is verified before the next. */
  rotate(options?: RotateOptions): Promise<RotationReport>;
  /** Tells what differs between the stacks and the service. Changes nothing. */
  watch(options?: WatchOptions): Promise<DriftReport>;
  /** The bot URLs of the index stack, by workspace; empty before the first `up`. */
  botUrls(): Promise<Record<string, string>>;
  /**
   * Ends the processes of the fleet. A second call does nothing more, but with `kill` they end at once: what is under way is
   * lost, and the locks of its stacks stay until the next run.
   */
  close(options?: { kill?: boolean }): Promise<void>;
}

export interface OpenFleetOptions {
  /** For the engine, the program and the provider, over what this process has: `PULUMI_BACKEND_URL`, `APICHAT_API_KEY`. */
  environment?: Record<string, string>;
}

/**
 * Reads the list of workspaces and splits it over the stacks. Whoever opens a fleet closes it. Throws `invalid_config` with
 * everything that is wrong with the definition or the list.
 */
export async function openFleet(
  definition: FleetDefinition,
  { environment = {} }: OpenFleetOptions = {},
): Promise<Fleet> {
  const fleet = await resolveFleet(definition);
  const workers = createWorkers({ size: MOST_STACKS_AT_ONCE, environment });
  return toFleet({ fleet, workers, environment });
}

/** The runs of a fleet. */
export function toFleet(context: FleetContext): Fleet {
  const { fleet, workers } = context;
  let closed: Promise<void> | undefined;
  return {
    name: fleet.name,
    project: fleet.project,
    indexStack: fleet.indexStack,
    workspaces: fleet.workspaces,
    stacks: fleet.stacks,
    plan: (options = {}) => planFleet(context, options),
    up: (options = {}) => upFleet(context, options),
    refresh: (options = {}) => refreshFleet(context, options),
    destroy: (options = {}) => destroyFleet(context, options),
    rotate: (options = {}) => rotateFleet(context, options),
    watch: (options = {}) => watchFleet(context, options),
    botUrls: async () => (await readIndex(context)).botUrls,
    close: ({ kill = false } = {}) => (kill ? workers.close({ kill }) : (closed ??= workers.close())),
  };
}
