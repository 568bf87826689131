import {
  findRemovals,
  readIndex,
  refuseTooManyRemovals,
  refuseLostStacks,
  updateIndex,
} from "./index-stack.js";
import type { UpOptions } from "./options.js";
import type { PlacedStack } from "./placement.js";
import type { FleetReport } from "./reports.js";
import {
  addFailure,
  announce,
  beginRun,
  coversFleet,
  runStacks,
  toReport,
  type FleetContext,
  type Run,
} from "./run.js";

/** Brings every stack to what the list says, and then the index stack to what they contain. */
export async function upFleet(context: FleetContext, options: UpOptions): Promise<FleetReport> {
  const run = await beginRun(context, "up", options);
  const { refresh, maxRemovals } = run.options;
  const before = await readIndex(run);
  refuseLostStacks(run, before);
  refuseTooManyRemovals(findRemovals(run, before), maxRemovals);
  const stacks = findDeployable(run);
  announce(run, stacks);
  const ran = await runStacks(run, stacks, { action: "up", refresh });
  const failure = coversFleet(context, run) ? await updateIndex(run, before, ran.stacks) : undefined;
  return addFailure(toReport(run, ran), failure);
}

/** The stacks that an `up` runs: those with workspaces, and those that exist, whose workspaces may have left the list. */
export const findDeployable = ({ stacks, existing }: Run): PlacedStack[] =>
  stacks.filter(({ name, workspaces }) => workspaces.length > 0 || existing.has(name));
