import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { readFileIfExists, writePrivateFile } from "../lib/files.js";
import {
  findRemovals,
  readIndex,
  refuseTooManyRemovals,
  refuseLostStacks,
  updateIndex,
} from "./index-stack.js";
import { wrongOption, type UpOptions } from "./options.js";
import type { PlacedStack } from "./placement.js";
import type { FleetReport } from "./reports.js";
import {
  addFailure,
  announce,
  beginRun,
  coversFleet,
  runStacks,
  skip,
  toReport,
  type FleetContext,
  type Run,
} from "./run.js";

/** Brings every stack to what the list says, and then the index stack to what they contain. */
export async function upFleet(context: FleetContext, options: UpOptions): Promise<FleetReport> {
  const run = await beginRun(context, "up", options);
  const { refresh, onlyFailed, maxRemovals } = run.options;
  const before = await readIndex(run);
  refuseLostStacks(run, before);
  refuseTooManyRemovals(findRemovals(run, before), maxRemovals);
  const file = join(run.fleet.folder, "last-up.txt");
  const done = onlyFailed ? readDone(run, file) : new Set<string>();
  await writePrivateFile(file, [...done].map((stack) => `${stack}\n`).join(""));
  // At once: a run may be killed later.
  run.onDone = (stack) => appendFileSync(file, `${stack}\n`);
  const all = findDeployable(run);
  const stacks = all.filter(({ name }) => !done.has(name));
  announce(run, stacks);
  const ran = await runStacks(run, stacks, { action: "up", refresh });
  const alreadyDone = all.filter(({ name }) => done.has(name)).map((stack) => skip(stack, "already-done"));
  const failure = coversFleet(context, run) ? await updateIndex(run, before, ran.stacks) : undefined;
  return addFailure(toReport(run, { ...ran, skipped: [...ran.skipped, ...alreadyDone] }), failure);
}

/** The stacks that an `up` runs: those with workspaces, and those that exist, whose workspaces may have left the list. */
export const findDeployable = ({ stacks, existing }: Run): PlacedStack[] =>
  stacks.filter(({ name, workspaces }) => workspaces.length > 0 || existing.has(name));

/** The stacks that the last `up` on this machine finished and that still exist. */
function readDone({ existing }: Run, file: string): Set<string> {
  const names = readFileIfExists(file)?.split("\n");
  if (names) return new Set(names.filter((name) => existing.has(name)));
  throw wrongOption(
    "onlyFailed",
    "no up has run on this machine, so it is unknown what failed; run up without this option",
  );
}
