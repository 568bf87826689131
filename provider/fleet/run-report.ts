import type { Failure, FleetReport, Outcome } from "./reports.js";
import type { RunContext } from "./run-context.js";
import type { StacksRun } from "./run-stacks.js";

/** The report of a run over stacks. `failure`: of what comes after the stacks, such as the index stack. */
export function toReport(
  { fleet, action, gate, startedAt }: RunContext,
  run: StacksRun,
  failure?: Failure,
): FleetReport {
  return {
    ...run,
    fleet: fleet.name,
    action,
    outcome: worseOf(run.outcome, failure === undefined ? "done" : "failed"),
    startedAt: new Date(startedAt).toISOString(),
    seconds: secondsSince(startedAt),
    failures: failure === undefined ? run.failures : [...run.failures, failure],
    calls: gate.calls(),
    answers429: gate.answers429(),
  };
}

/** A run that was stopped says so, whatever failed besides. */
const worseOf = (run: Outcome, after: Outcome): Outcome => (run === "done" ? after : run);

export const secondsSince = (startedAt: number): number => (Date.now() - startedAt) / 1000;
