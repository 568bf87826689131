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
  stacks: string[];
  /** `done`: rotated and verified. `stopped`: ended early, or not started. */
  outcome: Outcome;
  /** How many webhooks got a key that differs from their earlier one. */
  rotated: number;
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

/** How a rotation ended. For each stack it has what `up` did and the drift found by verification. It contains no keys. */
export interface RotationReport extends FleetReport<"rotate"> {
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
  const rotated = new Map<string, RotatedStack>();
  for (const [index, places] of planned.entries()) {
    const position = { wave: index + 1, waves: planned.length };
    run.stop.emit({ type: "wave-started", ...position, stacks: places.map(({ name }) => name) });
    for (const one of await runWave(run, rotation, places)) rotated.set(one.report.stack, one);
    const { outcome } = toWave(places, rotated);
    run.stop.emit({ type: "wave-ended", ...position, outcome });
    if (outcome !== "done") break;
  }
  const waves = planned.map((places) => toWave(places, rotated));
  const failed = waves.findIndex(({ outcome }) => outcome !== "done");
  const outcome = waves[failed]?.outcome ?? "done";
  const stoppedBy =
    outcome === "done" ? undefined : (run.stop.why ?? describeFailed(failed + 1, waves.length));
  const isUnchanged = waves.every((wave) => wave.outcome === "done" && wave.rotated === 0);
  const notStarted = planned.flat().filter(({ name }) => !rotated.has(name));
  const report = toReport(run, {
    stacks: [...rotated.values()].map((one) => one.report),
    skipped: notStarted.map((stack) => skip(stack, "stopped")),
    failures: waves.flatMap(({ failures }) => failures),
  });
  return {
    ...report,
    outcome,
    ...(stoppedBy && { stoppedBy }),
    rotation,
    waves,
    keys: toKeys(planned.flat(), rotated),
    ...(isUnchanged && { note: nothingNew(rotation) }),
  };
}

const describeFailed = (wave: number, waves: number): string =>
  `wave ${wave} of ${waves} failed${wave < waves ? ", so no later one was started" : ""}`;

const nothingNew = (rotation: string): string =>
  `Every workspace already had the key of rotation ${rotation}: nothing was changed. To rotate again, give another name`;

/** What became of a stack: one report of its `up` and its verification, and the workspaces that are registered with the new key. */
interface RotatedStack {
  report: StackReport;
  newKeys: ReadonlySet<string>;
}

function toWave(places: readonly PlacedStack[], rotated: ReadonlyMap<string, RotatedStack>): RotationWave {
  const ran = places.flatMap(({ name }) => rotated.get(name) ?? []);
  const failures = ran.flatMap(({ report }) => report.failures);
  const isDone = ran.length === places.length && ran.every(({ report }) => report.outcome === "done");
  const changed = ran.flatMap(({ report, newKeys }) =>
    report.webhooks.filter(({ workspace, change }) => change !== "same" && newKeys.has(workspace)),
  );
  return {
    stacks: places.map(({ name }) => name),
    outcome: failures.length > 0 ? "failed" : isDone ? "done" : "stopped",
    rotated: changed.length,
    failures,
  };
}

function toKeys(places: readonly PlacedStack[], rotated: ReadonlyMap<string, RotatedStack>): KeysByWorkspace {
  const keys: KeysByWorkspace = { new: [], old: [], unknown: [] };
  for (const { name: stack, workspaces } of places) {
    const newKeys = rotated.get(stack)?.newKeys;
    for (const { name } of workspaces) {
      keys[newKeys === undefined ? "old" : newKeys.has(name) ? "new" : "unknown"].push(name);
    }
  }
  for (const names of Object.values(keys) as string[][]) names.sort();
  return keys;
}

/** Rotates the stacks of a wave, and verifies them at the service if that succeeded. */
async function runWave(run: Run, rotation: string, places: readonly PlacedStack[]): Promise<RotatedStack[]> {
  const up = await runStacks(run, places, { action: "up", rotation });
  const seen =
    up.outcome === "done"
      ? await runStacks(run, places, { action: "preview", rotation, refresh: true })
      : undefined;
  return up.stacks.map((report) =>
    toRotated(
      run,
      report,
      seen?.stacks.find(({ stack }) => stack === report.stack),
    ),
  );
}

/** Merges what `up` did with a stack, the drift that the verification found, and the failures of both. */
function toRotated({ webhooks, stop }: Run, up: StackReport, seen: StackReport | undefined): RotatedStack {
  const { stack } = up;
  const failed = new Set(up.failures.map(({ workspace }) => workspace));
  const isSameString = ({ workspace, change }: WebhookReport): boolean =>
    change === "same" && typeof webhooks.get(workspace)?.webhookVerificationKey === "string";
  const drifts = new Map(
    seen?.webhooks.flatMap(({ workspace, drift }) => (drift ? [[workspace, drift] as const] : [])),
  );
  const wrong: FleetFailure[] = [
    ...(seen ? up.webhooks.filter(isSameString) : []).map(({ workspace }) => ({
      workspace,
      stack,
      message: NOT_ROTATED,
    })),
    ...[...drifts].map(([workspace, drift]) => ({ workspace, stack, message: describeDrift(drift) })),
  ];
  for (const failure of wrong) stop.emit({ type: "failure", failure });
  const failures = [...up.failures, ...(seen?.failures ?? []), ...wrong];
  const unverified = up.outcome === "done" ? "stopped" : up.outcome;
  const newKeys = up.webhooks.filter((one) => !isSameString(one) && !failed.has(one.workspace));
  return {
    newKeys: new Set(newKeys.map(({ workspace }) => workspace)),
    report: {
      ...up,
      outcome: failures.length > 0 ? "failed" : (seen?.outcome ?? unverified),
      seconds: up.seconds + (seen?.seconds ?? 0),
      webhooks: up.webhooks.map((one) => {
        const drift = drifts.get(one.workspace);
        return { ...one, ...(drift && { drift }) };
      }),
      failures,
      notes: [...up.notes, ...(seen?.notes ?? [])],
    },
  };
}

function describeDrift({ kind, properties }: Drift): string {
  const names = properties.map(({ property }) => property).join(", ");
  return `after the rotation, the webhook is not as it was set; the service shows ${kind}: ${names}`;
}
