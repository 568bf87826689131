import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { invalidConfig, readFileIfExists, writePrivateFile } from "../lib/files.js";
import {
  findRemovals,
  readIndex,
  refuseTooManyRemovals,
  refuseLostStacks,
  updateIndex,
} from "./index-stack.js";
import type { FleetEvent, UpOptions } from "./options.js";
import type { PlacedStack } from "./placement.js";
import type { FleetReport } from "./reports.js";
import {
  announce,
  beginRun,
  requireRunOptions,
  runStacks,
  toReport,
  type FleetContext,
  type Run,
} from "./run.js";

/** Brings every stack to what the list says, and then the index stack to what they hold. */
export async function upFleet(context: FleetContext, options: UpOptions): Promise<FleetReport> {
  requireRunOptions("up", options);
  const { refresh = false, onlyFailed = false, maxRemovals } = options;
  const file = join(context.fleet.folder, "last-up.txt");
  const run = await beginRun(context, "up", {
    ...options,
    onEvent: (event) => noteDone(event, file, options),
  });
  const before = await readIndex(run);
  refuseLostStacks(run, before);
  refuseTooManyRemovals(findRemovals(run, before), maxRemovals);
  const done = onlyFailed ? readDone(run, file) : new Set<string>();
  await writePrivateFile(file, [...done].map((stack) => `${stack}\n`).join(""));
  const all = findDeployable(run);
  const stacks = all.filter(({ name }) => !done.has(name));
  announce(run, stacks);
  const ran = await runStacks(
    run,
    stacks.map((stack) => ({ action: "up", stack, refresh })),
  );
  const alreadyDone = all
    .filter(({ name }) => done.has(name))
    .map(({ name: stack, workspaces: { length } }) => ({
      stack,
      workspaces: length,
      reason: "already-done" as const,
    }));
  const failure = options.shard === undefined ? await updateIndex(run, before, ran.stacks) : undefined;
  return toReport(run, { ...ran, skipped: [...ran.skipped, ...alreadyDone] }, failure);
}

/** The stacks that an `up` runs: those with workspaces, and those that exist, whose workspaces may have left the list. */
export const findDeployable = ({ stacks, existing }: Run): PlacedStack[] =>
  stacks.filter(({ name, workspaces }) => workspaces.length > 0 || existing.has(name));

/** Adds each stack that is done to the file, also of a run that is killed later. */
function noteDone(event: FleetEvent, file: string, { onEvent }: UpOptions): void {
  if (event.type === "stack-ended" && event.report.outcome === "done") {
    appendFileSync(file, `${event.report.stack}\n`);
  }
  onEvent?.(event);
}

/** The stacks that the last `up` on this machine finished, and nobody has removed since. */
function readDone({ existing }: Run, file: string): Set<string> {
  const text = readFileIfExists(file);
  if (text !== undefined) return new Set(text.split("\n").filter((name) => existing.has(name)));
  throw invalidConfig([
    "onlyFailed: no up has run on this machine, so nobody knows what failed; run up without --only-failed",
  ]);
}
