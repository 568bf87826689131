import { rm } from "node:fs/promises";
import { join } from "node:path";
import { invalidConfig, readFileIfExists, writePrivateFile } from "../lib/files.js";
import { readIndex, requireDeployed, refuseLostStacks } from "./index-stack.js";
import type { RotateOptions } from "./options.js";
import { splitIntoWaves, type PlacedStack } from "./placement.js";
import type { Failure, FleetReport, Outcome, StackReport, WebhookReport } from "./reports.js";
import {
  announce,
  beginRun,
  runStacks,
  skip,
  toReport,
  type FleetContext,
  type Run,
  type StacksRun,
} from "./run.js";
import { refuseAny } from "./webhooks.js";

/** One wave of a rotation. */
export interface RotationWave {
  stacks: string[];
  /** `done`: rotated and verified. `stopped`: ended early, or not started. */
  outcome: Outcome;
  /** How many webhooks got a key that differs from their earlier one. */
  rotated: number;
  failures: Failure[];
}

/** Which key workspaces have, by their names. Those with only the old key are safe: the receiver keeps it. */
export interface KeysByWorkspace {
  /** Registered with the key of this rotation. */
  new: string[];
  /** Registered with the key that they had before. */
  old: string[];
  /** Failed or stopped while in progress: either key may be registered. Run the same rotation again to settle it. */
  unknown: string[];
}

/** How a rotation ended. For each stack it has what `up` did and the drift found by verification. It contains no keys. */
export interface RotationReport extends FleetReport {
  rotation: string;
  /** In their order; those that were not started are `stopped`. */
  waves: RotationWave[];
  keys: KeysByWorkspace;
  /** Set if every workspace already had the key of this rotation. */
  note?: string;
}

/**
 * Rotates the verification key of each workspace: one stack first, then wave by wave. Each wave is verified at the service before
 * the next starts, and one that fails is the last. Meanwhile both keys are accepted, as long as the receiver keeps earlier ones.
 * An interrupted rotation continues under its name. Only what is deployed is rotated. Throws `invalid_config` before anything runs
 * if the list and the stacks differ, or if `webhook` does not pass the rotation to derived keys.
 */
export async function rotateFleet(context: FleetContext, options: RotateOptions): Promise<RotationReport> {
  const run = await beginRun(context, "rotate", options);
  const index = await readIndex(run);
  refuseLostStacks(run, index);
  requireDeployed(run, index);
  const rotation = chooseRotation(run, options);
  requireRotated(run, rotation);
  await writePrivateFile(unfinishedFile(run), rotation);
  const stacks = run.stacks.filter(({ workspaces }) => workspaces.length > 0);
  announce(run, stacks);
  const waves = splitIntoWaves(stacks, options.waveSize ?? run.limits.stacksAtOnce);
  const report = await runWaves(run, rotation, waves);
  if (report.outcome === "done") await rm(unfinishedFile(run), { force: true });
  return report;
}

/** Has the name of a rotation until it is done. */
export const unfinishedFile = ({ fleet }: Pick<Run, "fleet">): string => join(fleet.folder, "rotation.txt");

/** The name that is given, that of the definition, that of a rotation which did not end, or else today's. */
function chooseRotation(run: Run, { rotation: given }: RotateOptions): string {
  const [defined] = run.fleet.rotations;
  const unfinished = readFileIfExists(unfinishedFile(run));
  if (defined !== undefined && given !== undefined && given !== defined) {
    throw invalidConfig([
      `rotation: the definition's rotations begin with ${JSON.stringify(defined)}, got ${JSON.stringify(given)}; put the new name in front of them`,
    ]);
  }
  const rotation = given ?? defined ?? unfinished ?? new Date().toISOString().slice(0, "2026-11-21".length);
  // A webhook that misses several rotations is left with a key that its receiver no longer accepts.
  if (unfinished === undefined || unfinished === rotation) return rotation;
  const first =
    defined === undefined
      ? `run rotate --rotation ${unfinished}`
      : `run rotate with rotations that begin with ${JSON.stringify(unfinished)}`;
  throw invalidConfig([
    `rotation: ${JSON.stringify(rotation)} cannot start until ${JSON.stringify(unfinished)} has finished, because some ` +
      `workspaces may still have the previous key. First ${first}`,
  ]);
}

/** Throws `invalid_config` if a derived key would stay as it is. Only its update shows that of a key that is a string. */
function requireRotated({ webhooks }: Run, rotation: string): void {
  const problems = [...webhooks].flatMap(([name, { webhookVerificationKey: key }]) =>
    typeof key === "string" || key.derivedFrom === undefined || key.rotations?.[0] === rotation
      ? []
      : [`webhook: for ${name}, ${NOT_ROTATED}`],
  );
  refuseAny(problems);
}

const NOT_ROTATED =
  "the key does not follow the rotation; webhook must return another one, as with webhookVerificationKey: { derivedFrom, rotations }";

/** Runs one wave after the other. The first that is not done is the last. */
async function runWaves(
  run: Run,
  rotation: string,
  planned: readonly PlacedStack[][],
): Promise<RotationReport> {
  const waves = planned.map((places): RotationWave => {
    return { stacks: places.map(nameOf), outcome: "stopped", rotated: 0, failures: [] };
  });
  const stacks: StackReport[] = [];
  const withNewKey = new Set<string>();
  for (const [index, places] of planned.entries()) {
    const position = { wave: index + 1, waves: waves.length };
    run.stop.emit({ type: "wave-started", ...position, stacks: places.map(nameOf) });
    const { wave, reports, newKeys } = await runWave(run, rotation, places);
    waves[index] = wave;
    stacks.push(...reports);
    newKeys.forEach((name) => withNewKey.add(name));
    run.stop.emit({ type: "wave-ended", ...position, outcome: wave.outcome });
    if (wave.outcome !== "done") break;
  }
  const started = new Set(stacks.map(({ stack }) => stack));
  const notStarted = planned.flat().filter(({ name }) => !started.has(name));
  const known = namesOf(planned.flat().filter(({ name }) => started.has(name)));
  const outcome = waves.find((wave) => wave.outcome !== "done")?.outcome ?? "done";
  const stoppedBy = outcome === "done" ? undefined : (run.stop.why ?? describeFailedWave(waves));
  const report = toReport(run, {
    outcome,
    stacks,
    skipped: notStarted.map((stack) => skip(stack, "stopped")),
    failures: waves.flatMap(({ failures }) => failures),
    ...(stoppedBy && { stoppedBy }),
  });
  const keys = {
    new: known.filter((name) => withNewKey.has(name)),
    old: namesOf(notStarted),
    unknown: known.filter((name) => !withNewKey.has(name)),
  };
  const isUnchanged = outcome === "done" && waves.every(({ rotated }) => rotated === 0);
  return { ...report, rotation, waves, keys, ...(isUnchanged && { note: nothingNew(rotation) }) };
}

const nameOf = ({ name }: { name: string }): string => name;

const namesOf = (places: readonly PlacedStack[]): string[] =>
  places.flatMap(({ workspaces }) => workspaces.map(nameOf)).toSorted();

function describeFailedWave(waves: readonly RotationWave[]): string | undefined {
  const index = waves.findIndex(({ outcome }) => outcome === "failed");
  if (index < 0) return undefined;
  const later = index + 1 < waves.length ? ", so no later one was started" : "";
  return `wave ${index + 1} of ${waves.length} failed${later}`;
}

const nothingNew = (rotation: string): string =>
  `Every workspace already had the key of rotation ${rotation}: nothing was changed. To rotate again, give another name`;

/** Rotates the stacks of a wave, and verifies them at the service if that succeeded. */
async function runWave(
  run: Run,
  rotation: string,
  places: readonly PlacedStack[],
): Promise<{ wave: RotationWave; reports: StackReport[]; newKeys: string[] }> {
  const up = await runStacks(run, places, { action: "up", rotation });
  const seen =
    up.outcome === "done"
      ? await runStacks(run, places, { action: "preview", rotation, refresh: true })
      : undefined;
  const hasNewKey = ({ workspace, change }: WebhookReport): boolean =>
    change !== "same" || typeof run.webhooks.get(workspace)?.webhookVerificationKey !== "string";
  const wrong = seen
    ? [
        ...findWrong(up, (webhook) => (hasNewKey(webhook) ? undefined : NOT_ROTATED)),
        ...findWrong(seen, describeDrift),
      ]
    : [];
  for (const failure of wrong) run.stop.emit({ type: "failure", failure });
  const failures = [...up.failures, ...(seen?.failures ?? []), ...wrong];
  const failed = new Set(up.failures.map(({ workspace }) => workspace));
  const withKey = up.stacks
    .flatMap(({ webhooks }) => webhooks)
    .filter((webhook) => hasNewKey(webhook) && !failed.has(webhook.workspace));
  const wave: RotationWave = {
    stacks: places.map(nameOf),
    outcome: failures.length > 0 ? "failed" : (seen ?? up).outcome,
    rotated: withKey.filter(({ change }) => change !== "same").length,
    failures,
  };
  const reports = up.stacks.map((report) => mergeReports(report, { seen, failures }));
  return { wave, reports, newKeys: withKey.map(({ workspace }) => workspace) };
}

/** The problems of the workspaces of a run. */
const findWrong = (
  { stacks }: StacksRun,
  describe: (webhook: WebhookReport) => string | undefined,
): Failure[] =>
  stacks.flatMap(({ stack, webhooks }) =>
    webhooks.flatMap((webhook) => {
      const message = describe(webhook);
      return message === undefined ? [] : [{ workspace: webhook.workspace, stack, message }];
    }),
  );

function describeDrift({ drift }: WebhookReport): string | undefined {
  if (drift === undefined) return undefined;
  const names = drift.properties.map(({ property }) => property).join(", ");
  return `after the rotation, the webhook is not as it was set; the service shows ${drift.kind}: ${names}`;
}

/** One report of a stack: what `up` did, the drift that the verification found, and the failures of both. */
function mergeReports(
  up: StackReport,
  { seen, failures }: { seen: StacksRun | undefined; failures: readonly Failure[] },
): StackReport {
  const second = seen?.stacks.find(({ stack }) => stack === up.stack);
  const drift = new Map(second?.webhooks.map((webhook) => [webhook.workspace, webhook.drift]));
  const own = failures.filter(({ stack }) => stack === up.stack);
  const unverified = up.outcome === "done" ? "stopped" : up.outcome;
  return {
    ...up,
    outcome: own.length > 0 ? "failed" : (second?.outcome ?? unverified),
    seconds: up.seconds + (second?.seconds ?? 0),
    webhooks: up.webhooks.map((webhook) => {
      const found = drift.get(webhook.workspace);
      return { ...webhook, ...(found && { drift: found }) };
    }),
    failures: own,
    notes: [...up.notes, ...(second?.notes ?? [])],
  };
}
