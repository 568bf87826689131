import { isDeepStrictEqual } from "node:util";
import { invalidFields } from "../errors/index.js";
import { invalidConfig } from "../lib/files.js";
import { listNames } from "../lib/plain-text.js";
import { failureOf } from "./failures.js";
import { indexStackName } from "./placement.js";
import type { FleetFailure, StackReport } from "./reports.js";
import type { FleetRun } from "./run.js";

/** The outputs of the index stack, keyed by workspace. */
export interface FleetIndex {
  botUrls: Record<string, string>;
  /** The name of the stack that contains the workspace. */
  stackOf: Record<string, string>;
}

type Backend = Pick<FleetRun, "fleet" | "engine" | "existing">;

export async function readIndex({ fleet, engine, existing }: Backend): Promise<FleetIndex> {
  const stack = indexStackName(fleet.name);
  const outputs: Partial<FleetIndex> = existing.has(stack) ? await engine.readOutputs(stack) : {};
  return { botUrls: {}, stackOf: {}, ...outputs };
}

/** Reads the index for an `up`. Throws `invalid_config` if a stack is lost or if too many workspaces left the list. */
export async function openIndex(run: FleetRun): Promise<FleetIndex> {
  const index = await readIndex(run);
  rejectLostStacks(run, index);
  rejectTooManyRemovals(findRemovals(run, index), run.options.maxRemovals);
  return index;
}

/**
 * Throws if the backend lacks a stack that the index lists, because a new stack would replace the workspaces' keys. If
 * `PULUMI_DIY_BACKEND_GZIP` was changed, an engine killed while it writes the state may leave only a copy of it.
 */
export function rejectLostStacks({ fleet, stacks, existing }: FleetRun, { stackOf }: FleetIndex): void {
  const known = new Set(Object.values(stackOf));
  const lost = stacks.find(({ name }) => known.has(name) && !existing.has(name))?.name;
  if (lost === undefined) return;
  throw invalidConfig([
    `stacks: the index lists workspaces of ${lost}, but the backend has no such stack; a new one would give them new ` +
      "keys, and their receivers would reject deliveries signed with those. Nothing was changed. A killed run may " +
      `have left a copy of the state: on a file backend, copy .pulumi/stacks/${fleet.project}/${lost}.json.bak ` +
      "(or .json.gz.bak) to the same name without .bak. After an unfinished destroy, run destroy again. " +
      "If somebody removed the stack on purpose, create an empty one with pulumi stack init",
  ]);
}

export function findRemovals({ fleet, stacks }: FleetRun, { stackOf }: FleetIndex): string[] {
  const listed = new Set(fleet.workspaces.map(({ name }) => name));
  const own = new Set(stacks.map(({ name }) => name));
  const known = Object.entries(stackOf).filter(([name, stack]) => own.has(stack) && !listed.has(name));
  return known.map(([name]) => name).toSorted();
}

/** Throws `invalid_config` if more workspaces left the list than may be removed: the list may have been truncated. */
export function rejectTooManyRemovals(removals: readonly string[], max: number): void {
  const { length } = removals;
  if (length <= max) return;
  const text =
    `must be at least ${length}, got ${max}: the list lacks ${length} workspaces that have a webhook ` +
    `(${listNames(removals)}). Nothing was changed. If the list was truncated, fix it; ` +
    "otherwise, raise the limit";
  throw invalidFields([{ field: "maxRemovals", text }]);
}

/** Throws if the list and the stacks differ, because a rotation's `up` would then create or delete webhooks. */
export function requireDeployed(run: FleetRun, index: FleetIndex): void {
  const isDeployed = (name: string): boolean => run.existing.has(index.stackOf[name] ?? "");
  const names = run.stacks.flatMap(({ workspaces }) => workspaces.map(({ name }) => name));
  const missing = names.filter((name) => !isDeployed(name));
  const removed = findRemovals(run, index);
  const problems = [
    ...(missing.length > 0 ? [`in the list, but not deployed yet: ${listNames(missing)}`] : []),
    ...(removed.length > 0 ? [`deployed, but no longer in the list: ${listNames(removed)}`] : []),
  ];
  if (problems.length === 0) return;
  throw invalidConfig([
    `workspaces: ${problems.join("; ")}. A rotation may only change keys, so nothing was changed. ` +
      "Run up first; if up fails for a workspace, leave that workspace out of the list until it is fixed",
  ]);
}

export function isStale(previous: FleetIndex, previews: readonly StackReport[]): boolean {
  // All count as unchanged: webhooks to be deleted are still registered, those to be created have no bot URL.
  const now = previews.map(({ webhooks, ...report }) => ({
    ...report,
    webhooks: webhooks.map((webhook) => ({ ...webhook, change: "same" as const })),
  }));
  return !isDeepStrictEqual(nextIndex(previous, now), previous);
}

/** Returns the index after a run. Keeps entries that an unfinished stack's report lacks. */
function nextIndex({ botUrls, stackOf }: FleetIndex, reports: readonly StackReport[]): FleetIndex {
  const places = new Map(
    Object.entries(botUrls).map(([name, botUrl]) => [name, { botUrl, stack: stackOf[name] ?? "" }]),
  );
  for (const { stack, outcome, webhooks } of reports) {
    const changes = new Map(webhooks.map(({ workspace, change }) => [workspace, change]));
    const unreported = outcome === "done" ? "delete" : "same";
    for (const [name, place] of places) {
      if (place.stack === stack && (changes.get(name) ?? unreported) === "delete") places.delete(name);
    }
    for (const { workspace, change, botUrl } of webhooks) {
      if (change !== "delete" && botUrl !== undefined) places.set(workspace, { botUrl, stack });
    }
  }
  return {
    botUrls: Object.fromEntries([...places].map(([name, { botUrl }]) => [name, botUrl])),
    stackOf: Object.fromEntries([...places].map(([name, { stack }]) => [name, stack])),
  };
}

/** Writes the bot URLs to the index stack if they have changed, even after failures. Returns the failure, if any. */
export async function updateIndex(
  { fleet, engine, existing }: Backend,
  previous: FleetIndex,
  reports: readonly StackReport[],
): Promise<FleetFailure[]> {
  const after = nextIndex(previous, reports);
  const stack = indexStackName(fleet.name);
  if (isDeepStrictEqual(after, previous)) return [];
  return failureOf(stack, () => engine.writeOutputs(stack, { ...after }, existing.has(stack)));
}
