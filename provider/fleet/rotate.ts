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
  limitsOf,
  runStacks,
  toReport,
  type FleetContext,
  type Run,
  type StacksRun,
} from "./run.js";

/** One wave of a rotation. */
export interface RotationWave {
  stacks: string[];
  /** `done`: rotated and verified. `stopped`: ended early, or not begun. */
  outcome: Outcome;
  /** How many webhooks got another key than they had. */
  rotated: number;
  failures: Failure[];
}

/** Which key workspaces have, by their names. Those that accept only the old key are safe: the receiver keeps it. */
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
  /** In their order; those that were not begun are `stopped`. */
  waves: RotationWave[];
  keys: KeysByWorkspace;
  /** There if every workspace had the key of this rotation before. */
  note?: string;
}

/**
 * Gives each workspace a new verification key: one stack first, then wave by wave. Each wave is verified at the service before
 * the next begins, and one that fails is the last. Meanwhile both keys are accepted, as long as the receiver keeps earlier ones.
 * An interrupted rotation goes on with its name. Only what is deployed is rotated: throws `invalid_config` if the list and the
 * stacks differ, before anything runs.
 */
export async function rotateFleet(context: FleetContext, options: RotateOptions): Promise<RotationReport> {
  const run = await beginRun(context, "rotate", options);
  const index = await readIndex(run);
  refuseLostStacks(run, index);
  requireDeployed(run, index);
  const rotation = chooseRotation(run, options);
  await writePrivateFile(unfinishedFile(run), rotation);
  const stacks = run.stacks.filter(({ workspaces }) => workspaces.length > 0);
  const { waveSize = limitsOf(options).stacksAtOnce } = options;
  announce(run, stacks);
  const report = await runWaves(run, rotation, splitIntoWaves(stacks, waveSize));
  if (report.outcome === "done") await rm(unfinishedFile(run), { force: true });
  return report;
}

/** Has the name of a rotation until it is done. */
export const unfinishedFile = ({ fleet }: Run): string => join(fleet.folder, "rotation.txt");

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

/** Runs one wave after the other. The first that is not done is the last. */
async function runWaves(
  run: Run,
  rotation: string,
  planned: readonly PlacedStack[][],
): Promise<RotationReport> {
  const ran: WaveRun[] = [];
  for (const [index, stacks] of planned.entries()) {
    const position = { wave: index + 1, waves: planned.length };
    run.stop.emit({ type: "wave-started", ...position, stacks: stacks.map(({ name }) => name) });
    const wave = await runWave(run, rotation, stacks);
    ran.push(wave);
    run.stop.emit({ type: "wave-ended", ...position, outcome: wave.outcome });
    if (wave.outcome !== "done") break;
  }
  return summarize(run, { rotation, planned, ran });
}

/** What became of one wave. */
interface WaveRun {
  outcome: Outcome;
  /** Of each stack that was begun, what `up` did and the verification saw. */
  stacks: StackReport[];
  /** The workspaces that `up` gave the new key, or found with it. */
  withNewKey: string[];
  rotated: number;
  failures: Failure[];
}

/** Rotates the stacks of a wave, and verifies them at the service if that went well. */
async function runWave(run: Run, rotation: string, stacks: readonly PlacedStack[]): Promise<WaveRun> {
  const up = await runStacks(
    run,
    stacks.map((stack) => ({ action: "up", stack, rotation })),
  );
  const unrotated = findWrong(stacks, up, (webhook) => (hasNewKey(webhook) ? undefined : NOT_ROTATED));
  const isDone = up.outcome === "done" && unrotated.length === 0;
  const seen = isDone ? await verify(run, rotation, { stacks, up }) : undefined;
  const unverified = seen ? findWrong(stacks, seen, describeUnverified) : [];
  for (const failure of [...unrotated, ...unverified]) run.stop.emit({ type: "failure", failure });
  const failures = [...up.failures, ...unrotated, ...(seen?.failures ?? []), ...unverified];
  const newKeys = up.stacks.flatMap(findNewKeys);
  return {
    outcome: failures.length > 0 ? "failed" : (seen ?? up).outcome,
    stacks: up.stacks.map((report) => mergeReports(report, { seen, failures })),
    withNewKey: newKeys.map(({ workspace }) => workspace),
    rotated: newKeys.filter(({ change }) => change !== "same").length,
    failures,
  };
}

/** A preview does not show the status of a webhook that it leaves as it is, unless the service shows another: then `up` did. */
async function verify(
  run: Run,
  rotation: string,
  { stacks, up }: { stacks: readonly PlacedStack[]; up: StacksRun },
): Promise<StacksRun> {
  const seen = await runStacks(
    run,
    stacks.map((stack) => ({ action: "preview", stack, rotation, refresh: true, expectNoChanges: true })),
  );
  const known = new Map(up.stacks.flatMap(({ webhooks }) => webhooks.map((one) => [one.workspace, one])));
  const fill = (webhook: WebhookReport): WebhookReport => {
    const { status } = { ...known.get(webhook.workspace), ...webhook };
    return status === undefined ? webhook : { ...webhook, status };
  };
  return {
    ...seen,
    stacks: seen.stacks.map((report) => ({ ...report, webhooks: report.webhooks.map(fill) })),
  };
}

const NOT_ROTATED =
  "its key was not rotated: webhook must return another key, as with webhookVerificationKey: { derivedFrom, rotations }";

/** Whether the `up` of a rotation left a webhook with the new key. A key that is a string shows it by the update alone. */
const hasNewKey = ({ isRotated, change }: WebhookReport): boolean =>
  isRotated ?? (change === "update" || change === "create");

function findNewKeys({ webhooks, failures }: StackReport): WebhookReport[] {
  const failed = new Set(failures.map(({ workspace }) => workspace));
  return webhooks.filter((webhook) => hasNewKey(webhook) && !failed.has(webhook.workspace));
}

/** Problems of workspaces in stacks that finished; the other stacks have already reported failures. */
function findWrong(
  stacks: readonly PlacedStack[],
  ran: StacksRun,
  describe: (webhook: WebhookReport) => string | undefined,
): Failure[] {
  return stacks.flatMap(({ name: stack, workspaces }) => {
    const report = ran.stacks.find((one) => one.stack === stack);
    if (report?.outcome !== "done") return [];
    const byName = new Map(report.webhooks.map((webhook) => [webhook.workspace, webhook]));
    return workspaces.flatMap(({ name: workspace }) => {
      const webhook = byName.get(workspace);
      const message = webhook ? describe(webhook) : "the engine reported no webhook of this name";
      return message === undefined ? [] : [{ workspace, stack, message }];
    });
  });
}

function describeUnverified({ drift, status, change }: WebhookReport): string | undefined {
  if (drift?.kind === "gone") return "after the rotation nothing is registered at the service";
  if (drift !== undefined) {
    const whose = drift.kind === "taken-over" ? "somebody else's webhook" : "something else than was set";
    return `after the rotation the service shows ${whose}: ${drift.properties.map(({ property }) => property).join(", ")}`;
  }
  if (status !== "verified")
    return `after the rotation its status is ${JSON.stringify(status ?? "unknown")}, not "verified"`;
  return change === "same"
    ? undefined
    : `after the rotation the next up would ${change} it still: webhook returns other arguments each time`;
}

/** One report of a stack: what `up` did, the drift that the verification saw, and what is wrong of both. */
function mergeReports(
  up: StackReport,
  { seen, failures }: { seen: StacksRun | undefined; failures: readonly Failure[] },
): StackReport {
  const second = seen?.stacks.find(({ stack }) => stack === up.stack);
  const drift = new Map(second?.webhooks.map((webhook) => [webhook.workspace, webhook.drift]));
  const own = failures.filter(({ stack }) => stack === up.stack);
  return {
    ...up,
    outcome:
      own.length > 0 ? "failed" : (second?.outcome ?? (up.outcome === "done" ? "stopped" : up.outcome)),
    seconds: up.seconds + (second?.seconds ?? 0),
    webhooks: up.webhooks.map((webhook) => {
      const found = drift.get(webhook.workspace);
      return found === undefined ? webhook : { ...webhook, drift: found };
    }),
    failures: own,
    notes: [...up.notes, ...(second?.notes ?? [])],
  };
}

function summarize(
  run: Run,
  given: { rotation: string; planned: readonly PlacedStack[][]; ran: readonly WaveRun[] },
): RotationReport {
  const { rotation, planned, ran } = given;
  const stacks = ran.flatMap((wave) => wave.stacks);
  const begun = new Set(stacks.map(({ stack }) => stack));
  const notBegun = planned.flat().filter(({ name }) => !begun.has(name));
  const outcome = ran.at(-1)?.outcome ?? "done";
  const stoppedBy = run.stop.why ?? describeFailedWave(ran, planned.length);
  const report = toReport(run, {
    outcome,
    stacks,
    skipped: notBegun.map(({ name: stack, workspaces: { length } }) => ({
      stack,
      workspaces: length,
      reason: "stopped",
    })),
    failures: ran.flatMap(({ failures }) => failures),
    ...(stoppedBy === undefined || outcome === "done" ? {} : { stoppedBy }),
  });
  const withNewKey = new Set(ran.flatMap((wave) => wave.withNewKey));
  const inBegun = namesOf(planned.flat().filter(({ name }) => begun.has(name)));
  const isNews = ran.some(({ rotated }) => rotated > 0);
  return {
    ...report,
    rotation,
    waves: planned.map((places, index) => {
      const { outcome: ended = "stopped", rotated = 0, failures = [] } = ran[index] ?? {};
      return { stacks: places.map(({ name }) => name), outcome: ended, rotated, failures };
    }),
    keys: {
      new: inBegun.filter((name) => withNewKey.has(name)),
      old: namesOf(notBegun),
      unknown: inBegun.filter((name) => !withNewKey.has(name)),
    },
    ...(outcome === "done" && !isNews ? { note: nothingNew(rotation) } : {}),
  };
}

const namesOf = (places: readonly PlacedStack[]): string[] =>
  places.flatMap(({ workspaces }) => workspaces.map(({ name }) => name)).toSorted();

function describeFailedWave(ran: readonly WaveRun[], waves: number): string | undefined {
  if (ran.at(-1)?.outcome !== "failed") return undefined;
  const later = ran.length < waves ? ", so no later one was begun" : "";
  return `wave ${ran.length} of ${waves} failed${later}; fix it, then run rotate again with the same rotation`;
}

const nothingNew = (rotation: string): string =>
  `Every workspace had the key of rotation ${rotation} already: nothing was changed. To rotate again, give another name`;
