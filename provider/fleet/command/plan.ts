import { EXIT } from "../../cli/output.js";
import { requireFewRemovals } from "../removals.js";
import { renderPlan } from "../render/plan.js";
import { deliver } from "./deliver.js";
import { given, limitsOf, type PlanCommandOptions } from "./options.js";
import type { Session } from "./run-on-fleet.js";

/**
 * Tells what `up` would do. Changes to come are no failure, but more removals than `up` allows are: throws what it would
 * throw. Gives the exit code.
 */
export async function planOnFleet(session: Session, options: PlanCommandOptions): Promise<number> {
  const { refresh } = options;
  const plan = await session.run((run) =>
    session.fleet.plan({ ...run, ...limitsOf(options), ...given({ refresh }) }),
  );
  await deliver(plan, renderPlan, { options, session });
  requireFewRemovals(plan.removals, options.mostRemovals);
  return plan.outcome === "done" ? EXIT.done : EXIT.failed;
}
