import { EXIT } from "../../cli/output.js";
import { renderReport } from "../render/report.js";
import { deliver } from "./deliver.js";
import { limitsOf, type RunCommandOptions } from "./options.js";
import type { Session } from "./run-on-fleet.js";

/** Records what the service shows. Gives the exit code. */
export async function refreshOnFleet(session: Session, options: RunCommandOptions): Promise<number> {
  const report = await session.run((run) => session.fleet.refresh({ ...run, ...limitsOf(options) }));
  await deliver(report, renderReport, { options, session });
  return report.outcome === "done" ? EXIT.done : EXIT.failed;
}
