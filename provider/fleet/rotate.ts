import { rm } from "node:fs/promises";
import { join } from "node:path";
import { invalidFields } from "../errors/index.js";
import { readFileIfExists, writePrivateFile } from "../lib/files.js";
import { readIndex, requireDeployed, rejectLostStacks } from "./index-stack.js";
import type { RotateOptions } from "./options.js";
import { splitIntoWaves, type PlacedStack } from "./placement.js";
import type { Drift, FleetFailure, FleetReport, Outcome, StackReport } from "./reports.js";
import {
  beginRun,
  runStacks,
  skip,
  toFleetReport,
  type FleetContext,
  type StackResults,
  type FleetRun,
} from "./run.js";
import { rejectAny } from "./webhooks.js";

/** One wave of a rotation. */
export interface RotationWave {
  /** The names of its stacks. */
  stacks: string[];
  /** `done`: rotated and verified. `stopped`: ended early, or not started. */
  outcome: Outcome;
}

/**
 * How a rotation ended: for each stack, what `up` did, and what failed in the `up` or in its verification. Contains
 * no keys. Workspaces of finished stacks have the new key. Workspaces of stacks that were not started have the old
 * key, which the receiver still accepts. For all other workspaces, run the same rotation again.
 */
export interface RotationReport extends FleetReport<"rotate"> {
  /** The name of the rotation. To continue the rotation, use the same name. */
  rotation: string;
  /** The waves in the order of the rotation; those that were not started are `stopped`. */
  waves: RotationWave[];
}

/**
 * Each wave is verified at the service before the next starts. No wave starts after a failed one. The old and
 * the new key are both accepted as long as the receiver keeps earlier keys. To continue an interrupted
 * rotation, run it under the same name. Throws `invalid_config` before anything runs if the list and the stacks
 * differ, or if `webhook` does not pass the rotation to derived keys.
 */
export async function rotateFleet(context: FleetContext, options: RotateOptions): Promise<RotationReport> {
  const run = await beginRun(context, "rotate", options);
  const index = await readIndex(run);
  rejectLostStacks(run, index);
  requireDeployed(run, index);
  const rotation = chooseRotation(run);
  requireRotated(run, rotation);
  await writePrivateFile(unfinishedFile(run), rotation);
  const { waveSize = run.options.stacksAtOnce } = run.options;
  const report = await runWaves(run, rotation, splitIntoWaves(run.places, waveSize));
  if (report.outcome === "done") await rm(unfinishedFile(run), { force: true });
  return report;
}

/** The file that holds the name of an unfinished rotation. */
export const unfinishedFile = ({ fleet }: Pick<FleetRun, "fleet">): string =>
  join(fleet.folder, "rotation.txt");

/** Returns the given name, else the definition's, else that of an unfinished rotation, else today's date. */
function chooseRotation(run: FleetRun): string {
  const { rotation: given } = run.options;
  const [defined] = run.fleet.rotations;
  const unfinished = readFileIfExists(unfinishedFile(run));
  if (defined !== undefined && given !== undefined && given !== defined) {
    const text =
      `the definition's rotations begin with ${JSON.stringify(defined)}, got ${JSON.stringify(given)}; ` +
      "put the new name first";
    throw invalidFields([{ field: "rotation", text }]);
  }
  const rotation = given ?? defined ?? unfinished ?? new Date().toISOString().slice(0, "2026-11-21".length);
  // No rotation may be skipped: a webhook that misses several has a key that its receiver no longer accepts.
  if (unfinished === undefined || unfinished === rotation) return rotation;
  const name = JSON.stringify(unfinished);
  const first = defined === undefined ? `the name ${name}` : `${name} as the first of rotations`;
  const text =
    `${JSON.stringify(rotation)} cannot start until ${name} has finished, because some ` +
    `workspaces may still have the previous key. Before that, run "rotate" with ${first}`;
  throw invalidFields([{ field: "rotation", text }]);
}

/** Throws `invalid_config` if a derived key would not change. Keys that are strings are checked after the `up`. */
function requireRotated({ webhooks }: FleetRun, rotation: string): void {
  const problems = [...webhooks].flatMap(([name, { webhookVerificationKey: key }]) =>
    typeof key === "string" || key.derivedFrom === undefined || key.rotations?.[0] === rotation
      ? []
      : [`webhook: for ${name}, ${NOT_ROTATED}`],
  );
  rejectAny(problems);
}

const NOT_ROTATED =
  "the rotation does not change the key; webhook must return a different one, " +
  "for example with webhookVerificationKey: { derivedFrom, rotations }";

/** Runs the waves one after another. After a wave that is not `done`, skips the rest. */
async function runWaves(
  run: FleetRun<"rotate">,
  rotation: string,
  planned: readonly PlacedStack[][],
): Promise<RotationReport> {
  const all: StackResults = { stacks: [], skipped: [], failures: [] };
  const waves: RotationWave[] = [];
  for (const places of planned) {
    const isOver = waves.some((wave) => wave.outcome !== "done");
    const ran = isOver
      ? { stacks: [], skipped: places.map(skip), failures: [] }
      : await runWave(run, rotation, places);
    all.stacks.push(...ran.stacks);
    all.skipped.push(...ran.skipped);
    all.failures.push(...ran.failures);
    waves.push({ stacks: places.map(({ name }) => name), outcome: outcomeOf(ran) });
  }
  const last = waves.findIndex((wave) => wave.outcome !== "done");
  const outcome = waves[last]?.outcome ?? "done";
  const later = last + 1 < waves.length ? ", so no later one was started" : "";
  const stoppedBy = run.stop.why ?? `wave ${last + 1} of ${waves.length} failed${later}`;
  return { ...toFleetReport(run, all), outcome, ...(outcome !== "done" && { stoppedBy }), rotation, waves };
}

function outcomeOf({ stacks, skipped, failures }: StackResults): Outcome {
  if (failures.length > 0) return "failed";
  return skipped.length === 0 && stacks.every(({ outcome }) => outcome === "done") ? "done" : "stopped";
}

async function runWave(
  run: FleetRun,
  rotation: string,
  places: readonly PlacedStack[],
): Promise<StackResults> {
  const up = await runStacks(run, { action: "up", rotation }, places);
  const verify = { action: "preview", rotation, refresh: true } as const;
  const seen = outcomeOf(up) === "done" ? (await runStacks(run, verify, places)).stacks : [];
  const stacks = up.stacks.map((report) =>
    toVerified(
      run,
      report,
      seen.find(({ stack }) => stack === report.stack),
    ),
  );
  return { ...up, stacks, failures: stacks.flatMap(({ failures }) => failures) };
}

function toVerified(
  { webhooks, stop }: FleetRun,
  up: StackReport,
  seen: StackReport | undefined,
): StackReport {
  if (seen === undefined) return up.outcome === "done" ? { ...up, outcome: "stopped" } : up;
  const { stack } = up;
  const wrong: FleetFailure[] = [
    ...up.webhooks
      .filter(({ change }) => change === "same")
      .filter(({ workspace }) => typeof webhooks.get(workspace)?.webhookVerificationKey === "string")
      .map(({ workspace }) => ({ workspace, stack, message: NOT_ROTATED })),
    ...seen.webhooks.flatMap(({ workspace, drift }) =>
      drift ? [{ workspace, stack, message: describeDrift(drift) }] : [],
    ),
  ];
  for (const failure of wrong) stop.emit({ type: "failure", failure });
  const failures = [...seen.failures, ...wrong];
  const outcome = failures.length > 0 ? "failed" : seen.outcome;
  return { ...up, outcome, seconds: up.seconds + seen.seconds, failures };
}

function describeDrift({ kind, properties }: Drift): string {
  const names = properties.map(({ property }) => property).join(", ");
  return `after the rotation, the webhook differs from what was set (${kind}): ${names}`;
}
