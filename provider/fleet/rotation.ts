import { ApiChatError } from "../errors/index.js";
import { listExisting, requireKnownStacks } from "./existing-stacks.js";
import { readIndex } from "./index-stack.js";
import { openJournal, removeJournal, unfinishedRotation, type Journal } from "./journal.js";
import type { FleetReport } from "./reports.js";
import type { ResolvedFleet, ResolvedStack } from "./resolve.js";
import { requireDeployed } from "./rotation/deployed.js";
import { sortByKey, type KeysByWorkspace } from "./rotation/keys.js";
import { rotationTask, type RotationRun } from "./rotation/wave.js";
import { runWaves, splitIntoWaves, type RotationWave, type WavesRun } from "./rotation/waves.js";
import { withRun, type FleetContext, type RunContext } from "./run-context.js";
import { limitsOf, type RotateOptions } from "./run-options.js";
import { toReport } from "./run-report.js";
import { tellStart } from "./run-stacks.js";

/** How a rotation ended. Of each stack it has what `up` did, and the drift that the verification saw. No key is in it. */
export interface RotationReport extends FleetReport {
  rotation: string;
  /** In their order; those that were not begun are `stopped`. What an earlier run has done is in none of them. */
  waves: RotationWave[];
  /** Which key each workspace has. */
  keys: KeysByWorkspace;
  /** There if every workspace had the key of this rotation before. */
  note?: string;
}

/**
 * Gives each workspace a new verification key: one stack first, then wave by wave. Each wave is verified at the service before
 * the next begins, and one that fails is the last. Meanwhile both keys are accepted, as long as the program keeps earlier ones.
 * Only what is deployed is rotated: throws `invalid_config` if the list and the stacks differ, before anything runs.
 */
export function rotateFleet(context: FleetContext, options: RotateOptions = {}): Promise<RotationReport> {
  const { fleet } = context;
  return withRun(context, { action: "rotate", options }, async (run) => {
    const existing = await listExisting(run);
    const index = await readIndex(run);
    requireKnownStacks(fleet, { existing, index });
    await requireDeployed(fleet, { existing, index });
    const rotation = await openRotation(fleet, options);
    const report = await rotateStacks(run, { ...rotation, options });
    if (report.outcome === "done") await removeJournal(fleet);
    return report;
  });
}

/** The rotation that is resumed, or a new one, which is named after the day if it has no name. */
async function openRotation(
  fleet: ResolvedFleet,
  { resume = false, rotation: given }: RotateOptions,
): Promise<{ rotation: string; journal: Journal }> {
  const unfinished = await unfinishedRotation(fleet);
  const rotation = given ?? (resume ? unfinished : undefined) ?? today();
  if (unfinished !== undefined && unfinished !== rotation) throw refuseAnother(unfinished, rotation);
  return { rotation, journal: await openJournal(fleet, { action: "rotate", resume, rotation }) };
}

/** A webhook that misses several rotations is left with a key that its program accepts no longer. */
const refuseAnother = (unfinished: string, rotation: string): ApiChatError =>
  new ApiChatError(
    "invalid_config",
    `rotation: ${JSON.stringify(rotation)} cannot begin while ${JSON.stringify(unfinished)} did not end, because some ` +
      "workspaces may have the key before it still. Go on with rotate --resume; or run up first, which gives each of them " +
      "the key that its stack has",
    { operation: "check" },
  );

const today = (): string => new Date().toISOString().slice(0, "2026-11-21".length);

async function rotateStacks(run: RunContext, rotation: RotationRun): Promise<RotationReport> {
  const { journal, options } = rotation;
  const places = run.fleet.stacks.filter(({ workspaces }) => workspaces.length > 0);
  const done = places.filter((place) => journal.isDone(rotationTask(run.fleet, place, rotation.rotation)));
  const todo = places.filter((place) => !done.includes(place));
  tellStart(
    run,
    todo.map((place) => rotationTask(run.fleet, place, rotation.rotation)),
    options,
  );
  const { waveSize = limitsOf(options).stacksAtOnce } = options;
  const waves = splitIntoWaves(todo, { waveSize, isBegun: done.length > 0 });
  return toRotationReport(run, {
    rotation: rotation.rotation,
    done,
    ran: await runWaves(run, rotation, waves),
  });
}

function toRotationReport(
  run: RunContext,
  { rotation, done, ran }: { rotation: string; done: readonly ResolvedStack[]; ran: WavesRun },
): RotationReport {
  const { waves, begun, notBegun, ...end } = ran;
  const stacks = begun.map(({ report }) => report);
  const skipped = [...skip(done, "done-before"), ...skip(notBegun, "stopped")];
  const numbers = { calls: run.gate.calls(), answers429: run.gate.answers429() };
  const isNews = done.length > 0 || waves.some(({ rotated }) => rotated > 0);
  return {
    ...toReport(run, { ...end, ...numbers, stacks, skipped }),
    rotation,
    waves,
    keys: sortByKey({ done, begun, notBegun }),
    ...(end.outcome === "done" && !isNews ? { note: nothingNew(rotation) } : {}),
  };
}

const skip = (
  places: readonly ResolvedStack[],
  why: FleetReport["skipped"][number]["why"],
): FleetReport["skipped"] =>
  places.map(({ name, workspaces }) => ({ stack: name, workspaces: workspaces.length, why }));

const nothingNew = (rotation: string): string =>
  `Every workspace had the key of rotation ${rotation} already: nothing was changed. To rotate again, give another name`;
