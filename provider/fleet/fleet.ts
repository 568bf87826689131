import { invalidConfig } from "../lib/files.js";
import type { ListedWorkspace } from "../workspace-list/index.js";
import { destroyFleet, refreshFleet, upFleet } from "./changes.js";
import { resolveFleet, type FleetDefinition } from "./definition.js";
import { Engine } from "./engine.js";
import { readIndex } from "./index-stack.js";
import type { RotateOptions, RunOptions, UpOptions } from "./options.js";
import { countInName, placeWorkspaces, type PlacedStack } from "./placement.js";
import { planFleet, type FleetPlan } from "./plan.js";
import { prepareProject, writeProject } from "./project.js";
import type { FleetReport } from "./reports.js";
import { rotateFleet, type RotationReport } from "./rotate.js";
import type { FleetContext } from "./run.js";
import { watchFleet, type DriftReport } from "./watch.js";
import { callWebhook } from "./webhooks.js";
import { toYaml } from "./yaml-program.js";

/** How many workspaces a stack of a new fleet has by default: see docs/reference/figures.md. */
const WORKSPACES_PER_STACK = 500;

/**
 * A fleet that can be run. Failures of a stack or a webhook are in the report. A run rejects only for a
 * problem found before it starts (an `ApiChatError` with the code `invalid_config`, or an `Error` if the
 * backend cannot be reached), or if `onEvent` throws.
 */
export interface Fleet {
  /** The prefix of each stack's name. */
  readonly name: string;
  /** The Pulumi project of the stacks. */
  readonly project: string;
  /** The workspaces, in the order of the list. */
  readonly workspaces: readonly ListedWorkspace[];
  /** All stacks, including those without workspaces. */
  readonly stacks: readonly PlacedStack[];
  /** Reports what `up` would do. Changes nothing. */
  plan(options?: UpOptions): Promise<FleetPlan>;
  /** Deploys each stack's part of the list, then updates the index stack. */
  up(options?: UpOptions): Promise<FleetReport>;
  /** Records in each stack's state what the service returns. */
  refresh(options?: RunOptions): Promise<FleetReport>;
  /** Removes all webhooks and all stacks of the fleet. */
  destroy(options?: RunOptions): Promise<FleetReport>;
  /** Rotates each workspace's verification key, wave by wave. Each wave is verified before the next starts. */
  rotate(options?: RotateOptions): Promise<RotationReport>;
  /** Reports what differs between the stacks and the service. Changes nothing. */
  watch(options?: RunOptions): Promise<DriftReport>;
  /**
   * Writes the Pulumi project of one stack into a folder, so that you can run `pulumi` on it directly. The
   * project contains secrets, so only its owner can read it. Throws `invalid_config` for an unknown stack, or
   * if the folder contains a different project.
   */
  write(stack: string, folder: string): Promise<void>;
  /** The bot URLs in the index stack, by workspace; empty before the first `up`. */
  botUrls(): Promise<Record<string, string>>;
}

/** What a fleet uses in addition to its definition. */
export interface OpenFleetOptions {
  /** Variables for the engine and the provider, such as `PULUMI_BACKEND_URL`, in addition to this process's. */
  environment?: Record<string, string>;
}

export async function openFleet(
  definition: FleetDefinition,
  { environment = {} }: OpenFleetOptions = {},
): Promise<Fleet> {
  const fleet = await resolveFleet(definition);
  const engine = new Engine(fleet, environment);
  await prepareProject(fleet);
  const count = fleet.stacks ?? (await countStacks(fleet.name, fleet.workspaces.length, engine));
  const stacks = placeWorkspaces(fleet.name, fleet.workspaces, count);
  const context: FleetContext = { fleet, stacks, engine };
  return {
    name: fleet.name,
    project: fleet.project,
    workspaces: fleet.workspaces,
    stacks,
    plan: (options = {}) => planFleet(context, options),
    up: (options = {}) => upFleet(context, options),
    refresh: (options = {}) => refreshFleet(context, options),
    destroy: (options = {}) => destroyFleet(context, options),
    rotate: (options = {}) => rotateFleet(context, options),
    watch: (options = {}) => watchFleet(context, options),
    write: (stack, folder) => writeStack(context, stack, folder),
    botUrls: async () => {
      const existing = new Set(await engine.listStacks());
      return (await readIndex({ fleet, engine, existing })).botUrls;
    },
  };
}

async function writeStack({ fleet, stacks }: FleetContext, name: string, folder: string): Promise<void> {
  const chosen = stacks.filter((stack) => stack.name === name);
  if (chosen.length > 0) return writeProject(fleet, toYaml(callWebhook(fleet, chosen)), folder);
  const names = stacks.map((stack) => stack.name).join(", ");
  throw invalidConfig([`stack: ${JSON.stringify(name)} is not a stack of this fleet; use one of ${names}`]);
}

/** A deployed fleet keeps its number of stacks, even if its list grows. */
async function countStacks(name: string, workspaces: number, engine: Engine): Promise<number> {
  const counts = (await engine.listStacks()).flatMap((stack) => countInName(name, stack) ?? []);
  return counts[0] ?? Math.max(1, Math.ceil(workspaces / WORKSPACES_PER_STACK));
}
