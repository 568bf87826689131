import { renderDrift } from "../render/drift.js";
import { deliver } from "./deliver.js";
import { WATCH_EXIT } from "./help.js";
import { limitsOf, type RunCommandOptions } from "./options.js";
import type { Session } from "./run-on-fleet.js";

const CODES = { "no-drift": WATCH_EXIT.noDrift, drift: WATCH_EXIT.drift, failed: WATCH_EXIT.failed } as const;

/** Looks for drift. Gives the exit code, which is one for drift and another one for a failure. */
export async function watchOnFleet(session: Session, options: RunCommandOptions): Promise<number> {
  const { fleet, program } = session;
  const report = await session.run((run) => fleet.watch({ ...run, ...limitsOf(options), command: program }));
  await deliver(report, renderDrift, { options, session });
  return CODES[report.outcome];
}
