import { EXIT } from "../../cli/output.js";
import { renderPlan } from "../render/plan.js";
import { deliver } from "./deliver.js";
import { given, limitsOf, type PlanCommandOptions } from "./options.js";
import type { Session } from "./run-on-fleet.js";

/** Tells what `up` would do. Changes to come are no failure. Gives the exit code. */
export async function planOnFleet(session: Session, options: PlanCommandOptions): Promise<number> {
  const { refresh } = options;
  const plan = await session.run((run) =>
    session.fleet.plan({ ...run, ...limitsOf(options), ...given({ refresh }) }),
  );
  await deliver(plan, renderPlan, { options, session });
  return plan.outcome === "done" ? EXIT.done : EXIT.failed;
}
