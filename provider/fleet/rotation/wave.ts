import type { ProgramTask } from "../engine/task.js";
import { programTask } from "../existing-stacks.js";
import type { Journal } from "../journal.js";
import type { Failure, Outcome, StackReport } from "../reports.js";
import type { ResolvedFleet, ResolvedStack } from "../resolve.js";
import type { RunContext } from "../run-context.js";
import type { RotateOptions } from "../run-options.js";
import { runStacks, type StacksRun } from "../run-stacks.js";
import { findRotated, type BegunStack } from "./keys.js";
import { findUnrotated, findUnverified } from "./verdict.js";

/** What all waves of a rotation share. */
export interface RotationRun {
  rotation: string;
  journal: Journal;
  options: RotateOptions;
}

/** What became of one wave. */
export interface WaveRun {
  outcome: Outcome;
  begun: BegunStack[];
  /** How many webhooks got another key than they had. */
  changed: number;
  failures: Failure[];
  stoppedBy?: string;
}

/** The task that rotates a stack. Without a refresh: whatever drifted is overwritten, and the verification looks. */
export const rotationTask = (fleet: ResolvedFleet, place: ResolvedStack, rotation: string): ProgramTask =>
  programTask(fleet, place, { action: "up", rotation, refresh: false });

/** Without the rotation, which `VerificationKey` remembers: so runs whatever comes next. */
const verificationTask = (fleet: ResolvedFleet, place: ResolvedStack): ProgramTask =>
  programTask(fleet, place, { action: "preview", refresh: true, expectNoChanges: true });

/** Rotates the stacks of a wave, looks at the service if that went well, and notes the stacks that are verified. */
export async function runWave(
  run: RunContext,
  rotation: RotationRun,
  places: readonly ResolvedStack[],
): Promise<WaveRun> {
  const up = await rotate(run, rotation, places);
  const isDone = up.outcome === "done" && up.found.length === 0;
  const seen = isDone ? await verify(run, rotation, { places, up }) : undefined;
  const failures = [...up.failures, ...up.found, ...(seen ? [...seen.failures, ...seen.found] : [])];
  for (const failure of [...up.found, ...(seen?.found ?? [])]) {
    rotation.options.onEvent?.({ type: "failure", failure });
  }
  const begun = places.flatMap((place) => mergeReports(place, { up, seen, failures }));
  await noteVerified(run, rotation, begun);
  const stoppedBy = seen?.stoppedBy ?? up.stoppedBy;
  return {
    outcome: failures.length > 0 ? "failed" : (seen ?? up).outcome,
    begun,
    changed: countChanged(up.stacks),
    failures,
    ...(stoppedBy === undefined ? {} : { stoppedBy }),
  };
}

/** A run, and what its reports say beside its own failures. */
interface Judged extends StacksRun {
  found: Failure[];
}

async function rotate(
  run: RunContext,
  { rotation, options }: RotationRun,
  places: readonly ResolvedStack[],
): Promise<Judged> {
  const tasks = places.map((place) => rotationTask(run.fleet, place, rotation));
  const up = await runStacks(run, tasks, options);
  const isDone = up.outcome === "done";
  return { ...up, found: isDone ? places.flatMap((place) => judgeStack(place, up, findUnrotated)) : [] };
}

async function verify(
  run: RunContext,
  { options }: RotationRun,
  { places, up }: { places: readonly ResolvedStack[]; up: StacksRun },
): Promise<Judged> {
  const tasks = places.map((place) => verificationTask(run.fleet, place));
  const seen = await runStacks(run, tasks, options);
  const complete = {
    ...seen,
    stacks: seen.stacks.map((report) => fillStatus(report, reportOf(up, report.stack))),
  };
  return { ...complete, found: places.flatMap((place) => judgeStack(place, complete, findUnverified)) };
}

const reportOf = ({ stacks }: Pick<StacksRun, "stacks">, name: string): StackReport | undefined =>
  stacks.find(({ stack }) => stack === name);

/** What ended badly has its own failures. */
function judgeStack(
  place: ResolvedStack,
  run: StacksRun,
  judge: (place: ResolvedStack, report: StackReport) => Failure[],
): Failure[] {
  const report = reportOf(run, place.name);
  return report?.outcome === "done" ? judge(place, report) : [];
}

/** A preview does not tell the status of a webhook that it leaves as it is, unless the service shows another. */
function fillStatus(report: StackReport, up: StackReport | undefined): StackReport {
  const known = new Map(up?.webhooks.map(({ workspace, status }) => [workspace, status]));
  const webhooks = report.webhooks.map((webhook) => {
    const status = webhook.status ?? known.get(webhook.workspace);
    return status === undefined ? webhook : { ...webhook, status };
  });
  return { ...report, webhooks };
}

/** One report of a stack: what `up` did, the drift that the look saw, and what is wrong of both. */
function mergeReports(
  place: ResolvedStack,
  { up, seen, failures }: { up: StacksRun; seen: StacksRun | undefined; failures: readonly Failure[] },
): BegunStack[] {
  const first = reportOf(up, place.name);
  if (first === undefined) return [];
  const second = seen && reportOf(seen, place.name);
  const drift = new Map(second?.webhooks.map((webhook) => [webhook.workspace, webhook.drift]));
  const own = failures.filter(({ stack }) => stack === place.name);
  const report: StackReport = {
    stack: place.name,
    outcome:
      own.length > 0 ? "failed" : (second?.outcome ?? (first.outcome === "done" ? "stopped" : first.outcome)),
    seconds: first.seconds + (second?.seconds ?? 0),
    webhooks: first.webhooks.map((webhook) => {
      const seenDrift = drift.get(webhook.workspace);
      return seenDrift === undefined ? webhook : { ...webhook, drift: seenDrift };
    }),
    failures: own,
    notes: [...first.notes, ...(second?.notes ?? [])],
  };
  return [{ place, report, rotated: findRotated(first) }];
}

/** Only what is verified is done: whatever else was under way is rotated again with the same name, which changes nothing twice. */
async function noteVerified(
  run: RunContext,
  { journal, rotation }: RotationRun,
  begun: readonly BegunStack[],
): Promise<void> {
  for (const { place, report } of begun) {
    if (report.outcome === "done") await journal.note(rotationTask(run.fleet, place, rotation), report);
  }
}

function countChanged(stacks: readonly StackReport[]): number {
  const rotated = stacks.flatMap((report) => {
    const names = findRotated(report);
    return report.webhooks.filter(({ workspace, change }) => change !== "same" && names.has(workspace));
  });
  return rotated.length;
}
