import { rm } from "node:fs/promises";
import { join } from "node:path";
import { readFileIfExists, writePrivateFile } from "../lib/files.js";
import { readIndex, requireDeployed, refuseLostStacks } from "./index-stack.js";
import { wrongOption, type RotateOptions } from "./options.js";
import { splitIntoWaves, type PlacedStack } from "./placement.js";
import type { Drift, FleetFailure, FleetReport, Outcome, StackReport, WebhookReport } from "./reports.js";
import { announce, beginRun, runStacks, skip, toReport, type FleetContext, type Run } from "./run.js";
import { refuseAny } from "./webhooks.js";

/** One wave of a rotation. */
export interface RotationWave {
  /** The names of its stacks. */
  stacks: string[];
  /** `done`: rotated and verified. `stopped`: ended early, or not started. */
  outcome: Outcome;
  /** How many webhooks got a key that differs from their earlier one. */
  rotated: number;
  /** What failed in it or in its verification; empty if nothing did. */
  failures: FleetFailure[];
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

/** How a rotation ended. For each stack it has what `up` did, and what failed in it or in its verification. It contains no keys. */
export interface RotationReport extends FleetReport<"rotate"> {
  /** The name of the rotation; the same name continues it. */
  rotation: string;
  /** In their order; those that were not started are `stopped`. */
  waves: RotationWave[];
  /** Which key each workspace has now. */
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
  const rotation = chooseRotation(run);
  requireRotated(run, rotation);
  await writePrivateFile(unfinishedFile(run), rotation);
  const stacks = run.stacks.filter(({ workspaces }) => workspaces.length > 0);
  announce(run, stacks);
  const waves = splitIntoWaves(stacks, run.options.waveSize ?? run.options.stacksAtOnce);
  const report = await runWaves(run, rotation, waves);
  if (report.outcome === "done") await rm(unfinishedFile(run), { force: true });
  return report;
}

/** Has the name of a rotation until it is done. */
export const unfinishedFile = ({ fleet }: Pick<Run, "fleet">): string => join(fleet.folder, "rotation.txt");

/** The name that is given, that of the definition, that of a rotation which did not end, or else today's. */
function chooseRotation(run: Run): string {
  const { rotation: given } = run.options;
  const [defined] = run.fleet.rotations;
  const unfinished = readFileIfExists(unfinishedFile(run));
  if (defined !== undefined && given !== undefined && given !== defined) {
    throw wrongOption(
      "rotation",
      `the definition's rotations begin with ${JSON.stringify(defined)}, got ${JSON.stringify(given)}; put the new name in front of them`,
    );
  }
  const rotation = given ?? defined ?? unfinished ?? new Date().toISOString().slice(0, "2026-11-21".length);
  // A webhook that misses several rotations is left with a key that its receiver no longer accepts.
  if (unfinished === undefined || unfinished === rotation) return rotation;
  const name = JSON.stringify(unfinished);
  const first = defined === undefined ? `the name ${name}` : `rotations that begin with ${name}`;
  throw wrongOption(
    "rotation",
    `${JSON.stringify(rotation)} cannot start until ${name} has finished, because some ` +
      `workspaces may still have the previous key. First run rotate with ${first}`,
  );
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
  run: Run<"rotate">,
  rotation: string,
  planned: readonly PlacedStack[][],
): Promise<RotationReport> {
  const reports: StackReport[] = [];
  const newKeys = new Set<string>();
  const wavesNow = (): RotationWave[] => planned.map((places) => toWave(places, reports, newKeys));
  for (const [index, places] of planned.entries()) {
    const position = { wave: index + 1, waves: planned.length };
    run.stop.emit({ type: "wave-started", ...position, stacks: places.map(({ name }) => name) });
    for (const { report, workspaces } of await runWave(run, rotation, places)) {
      reports.push(report);
      for (const name of workspaces) newKeys.add(name);
    }
    const { outcome = "done" } = wavesNow()[index] ?? {};
    run.stop.emit({ type: "wave-ended", ...position, outcome });
    if (outcome !== "done") break;
  }
  const waves = wavesNow();
  const last = waves.findIndex(({ outcome }) => outcome !== "done");
  const outcome = waves[last]?.outcome ?? "done";
  const later = last + 1 < waves.length ? ", so no later one was started" : "";
  const failed = `wave ${last + 1} of ${waves.length} failed${later}`;
  const isUnchanged = outcome === "done" && waves.every(({ rotated }) => rotated === 0);
  const notStarted = planned.flat().filter(({ name }) => reports.every(({ stack }) => stack !== name));
  return {
    ...toReport(run, {
      stacks: reports,
      skipped: notStarted.map((stack) => skip(stack, "stopped")),
      failures: waves.flatMap(({ failures }) => failures),
    }),
    outcome,
    ...(outcome !== "done" && { stoppedBy: run.stop.why ?? failed }),
    rotation,
    waves,
    keys: toKeys(planned.flat(), new Set(notStarted), newKeys),
    ...(isUnchanged && { note: nothingNew(rotation) }),
  };
}

const nothingNew = (rotation: string): string =>
  `Every workspace already had the key of rotation ${rotation}: nothing was changed. To rotate again, give another name`;

function toWave(
  places: readonly PlacedStack[],
  reports: readonly StackReport[],
  newKeys: ReadonlySet<string>,
): RotationWave {
  const stacks = places.map(({ name }) => name);
  const ran = reports.filter(({ stack }) => stacks.includes(stack));
  const failures = ran.flatMap((report) => report.failures);
  const isDone = ran.length === places.length && ran.every((report) => report.outcome === "done");
  const rotated = ran
    .flatMap(({ webhooks }) => webhooks)
    .filter(({ workspace, change }) => change !== "same" && newKeys.has(workspace)).length;
  return { stacks, outcome: failures.length > 0 ? "failed" : isDone ? "done" : "stopped", rotated, failures };
}

function toKeys(
  places: readonly PlacedStack[],
  notStarted: ReadonlySet<PlacedStack>,
  newKeys: ReadonlySet<string>,
): KeysByWorkspace {
  const keys: KeysByWorkspace = { new: [], old: [], unknown: [] };
  for (const place of places) {
    for (const { name } of place.workspaces) {
      keys[notStarted.has(place) ? "old" : newKeys.has(name) ? "new" : "unknown"].push(name);
    }
  }
  return { new: keys.new.toSorted(), old: keys.old.toSorted(), unknown: keys.unknown.toSorted() };
}

/** One report of a stack, and the workspaces that are registered with the new key. */
interface RotatedStack {
  report: StackReport;
  workspaces: string[];
}

/** Rotates the stacks of a wave, and verifies them at the service if that succeeded. */
async function runWave(run: Run, rotation: string, places: readonly PlacedStack[]): Promise<RotatedStack[]> {
  const up = await runStacks(run, places, { action: "up", rotation });
  const verify = { action: "preview", rotation, refresh: true } as const;
  const seen = up.outcome === "done" ? (await runStacks(run, places, verify)).stacks : [];
  return up.stacks.map((report) => {
    const verified = seen.find(({ stack }) => stack === report.stack);
    return toRotated(run, report, verified);
  });
}

/** Merges what `up` did with a stack and what the verification found. */
function toRotated({ webhooks, stop }: Run, up: StackReport, seen: StackReport | undefined): RotatedStack {
  const isSameString = ({ workspace, change }: WebhookReport): boolean =>
    change === "same" && typeof webhooks.get(workspace)?.webhookVerificationKey === "string";
  const failed = new Set(up.failures.map(({ workspace }) => workspace));
  const withNewKey = up.webhooks.filter((one) => !isSameString(one) && !failed.has(one.workspace));
  const notRotated = seen ? up.webhooks.filter(isSameString) : [];
  const wrong: FleetFailure[] = [
    ...notRotated.map(({ workspace }) => ({ workspace, stack: up.stack, message: NOT_ROTATED })),
    ...(seen?.webhooks ?? []).flatMap(({ workspace, drift }) =>
      drift ? [{ workspace, stack: up.stack, message: describeDrift(drift) }] : [],
    ),
  ];
  for (const failure of wrong) stop.emit({ type: "failure", failure });
  const failures = [...up.failures, ...(seen?.failures ?? []), ...wrong];
  const unverified = up.outcome === "done" ? "stopped" : up.outcome;
  const report: StackReport = {
    ...up,
    outcome: failures.length > 0 ? "failed" : (seen?.outcome ?? unverified),
    seconds: up.seconds + (seen?.seconds ?? 0),
    failures,
    notes: [...up.notes, ...(seen?.notes ?? [])],
  };
  return { report, workspaces: withNewKey.map(({ workspace }) => workspace) };
}

function describeDrift({ kind, properties }: Drift): string {
  const names = properties.map(({ property }) => property).join(", ");
  return `after the rotation, the webhook is not as it was set; the service shows ${kind}: ${names}`;
}
