import { isDeepStrictEqual } from "node:util";
import { invalidConfig } from "../lib/files.js";
import { failureOf } from "./failures.js";
import { DEFAULT_MAX_REMOVALS } from "./options.js";
import { indexStackName } from "./placement.js";
import type { Failure, StackReport, WebhookReport } from "./reports.js";
import type { Run } from "./run.js";

/** What the index stack exports, by workspace. */
export interface FleetIndex {
  botUrls: Record<string, string>;
  /** The name of the stack. */
  stackOf: Record<string, string>;
}

/** Reads the index; empty if there is none yet. */
export async function readIndex(run: Pick<Run, "fleet" | "engine" | "existing">): Promise<FleetIndex> {
  const stack = indexStackName(run.fleet.name);
  if (!run.existing.has(stack)) return { botUrls: {}, stackOf: {} };
  const { botUrls = {}, stackOf = {} } = (await run.engine.readOutputs(stack)) as Partial<FleetIndex>;
  return { botUrls, stackOf };
}

/**
 * Throws `invalid_config` if the index knows workspaces of a stack that the backend does not hold: a run would make new keys
 * for them. The engine leaves only a copy of a state if it is killed in the write that changes `PULUMI_DIY_BACKEND_GZIP`.
 */
export function refuseLostStacks({ fleet, stacks, existing }: Run, { stackOf }: FleetIndex): void {
  const known = new Set(Object.values(stackOf));
  const lost = stacks.find(({ name }) => known.has(name) && !existing.has(name))?.name;
  if (lost === undefined) return;
  throw invalidConfig([
    `stacks: the index lists workspaces of ${lost}, but the backend has no such stack; a new one would give them new keys, ` +
      "and their receivers would refuse what is signed with those. Nothing was changed. A run that was killed may have left a " +
      `copy of the state: on a backend with files copy .pulumi/stacks/${fleet.project}/${lost}.json.bak (or .json.gz.bak) to the ` +
      "same name without .bak. After a destroy that did not end, run destroy again. If somebody removed the stack on purpose, " +
      "make an empty one with pulumi stack init",
  ]);
}

/** How many names an error lists. */
const NAMED = 5;

/** The workspaces of the run's stacks that have a webhook by the index, and are not in the list any more. */
export function findRemovals({ fleet, stacks }: Run, { stackOf }: FleetIndex): string[] {
  const listed = new Set(fleet.workspaces.map(({ name }) => name));
  const own = new Set(stacks.map(({ name }) => name));
  const known = Object.entries(stackOf).flatMap(([name, stack]) => (own.has(stack) ? [name] : []));
  return known.filter((name) => !listed.has(name)).toSorted();
}

/** Throws `invalid_config` if more workspaces left the list than may be removed: a list may have been cut short. */
export function refuseTooManyRemovals(removals: readonly string[], most = DEFAULT_MAX_REMOVALS): void {
  if (removals.length <= most) return;
  throw invalidConfig([
    `workspaces: the list has ${removals.length} fewer of those that have a webhook (${nameSome(removals)}), and at most ${most} may be ` +
      "removed at once. Nothing was changed. If the list was cut short, fix it; if they are to go, give " +
      `--max-removals ${removals.length}`,
  ]);
}

/**
 * Throws `invalid_config` if the list has workspaces without a webhook, or lacks some that have one. A rotation is
 * an `up`, so it would register the first without a plan, and delete the others.
 */
export function requireDeployed(run: Run, index: FleetIndex): void {
  const deployed = new Set(
    Object.entries(index.stackOf).flatMap(([name, stack]) => (run.existing.has(stack) ? [name] : [])),
  );
  const names = run.stacks.flatMap(({ workspaces }) => workspaces.map(({ name }) => name));
  const missing = names.filter((name) => !deployed.has(name));
  const removed = findRemovals(run, index);
  const problems = [
    ...(missing.length > 0 ? [`in the list, but not deployed yet: ${nameSome(missing)}`] : []),
    ...(removed.length > 0 ? [`deployed, but not in the list any more: ${nameSome(removed)}`] : []),
  ];
  if (problems.length === 0) return;
  throw invalidConfig([
    `workspaces: ${problems.join("; ")}. A rotation changes keys and nothing else, and nothing was changed. ` +
      "Run up first; a workspace whose up fails can be taken out of the list until it passes",
  ]);
}

const nameSome = (names: readonly string[]): string =>
  names.slice(0, NAMED).join(", ") + (names.length > NAMED ? ` and ${names.length - NAMED} more` : "");

/** Whether the index differs from what the stacks hold, by their previews. What is still to be created is not yet missing. */
export function isStale({ botUrls, stackOf }: FleetIndex, previews: readonly StackReport[]): boolean {
  return previews.some(({ stack, outcome, webhooks }) => {
    const known = new Set(webhooks.map(({ workspace }) => workspace));
    const isForgotten = (workspace: string): boolean =>
      outcome === "done" && stackOf[workspace] === stack && !known.has(workspace);
    const isWrong = ({ workspace, change, botUrl }: WebhookReport): boolean =>
      change !== "create" &&
      botUrl !== undefined &&
      (botUrls[workspace] !== botUrl || stackOf[workspace] !== stack);
    return webhooks.some(isWrong) || Object.keys(botUrls).some(isForgotten);
  });
}

/** The index after a run: of a stack that was not done, what is not known to be removed stays. */
function nextIndex(before: FleetIndex, reports: readonly StackReport[]): FleetIndex {
  const places = new Map(
    Object.entries(before.botUrls).map(([name, botUrl]) => [
      name,
      { botUrl, stack: before.stackOf[name] ?? "" },
    ]),
  );
  for (const { stack, outcome, webhooks } of reports) {
    const removed = new Set(
      webhooks.filter(({ change }) => change === "delete").map(({ workspace }) => workspace),
    );
    for (const [name, place] of places) {
      if (place.stack === stack && (outcome === "done" || removed.has(name))) places.delete(name);
    }
    for (const { workspace, change, botUrl } of webhooks) {
      if (change !== "delete" && botUrl !== undefined) places.set(workspace, { botUrl, stack });
    }
  }
  // Sorted, so that a state file and its differences are readable.
  const sorted = [...places].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    botUrls: Object.fromEntries(sorted.map(([name, { botUrl }]) => [name, botUrl])),
    stackOf: Object.fromEntries(sorted.map(([name, { stack }]) => [name, stack])),
  };
}

/**
 * Writes the bot URLs that a run leaves to the index stack, unless it has them already: also after a run with failures. Gives
 * why it failed.
 */
export function updateIndex(
  { fleet, engine, existing }: Pick<Run, "fleet" | "engine" | "existing">,
  before: FleetIndex,
  reports: readonly StackReport[],
): Promise<Failure | undefined> {
  const after = nextIndex(before, reports);
  const stack = indexStackName(fleet.name);
  if (isDeepStrictEqual(after, before)) return Promise.resolve(undefined);
  return failureOf(stack, () => engine.writeOutputs(stack, { ...after }, existing.has(stack)));
}
