import { EXIT, note } from "../../cli/output.js";
import { tableOptionsOf } from "../../cli/table.js";
import type { FleetPlan } from "../plan.js";
import { requireFewRemovals } from "../removals.js";
import { renderPlan } from "../render/plan.js";
import { renderReport } from "../render/report.js";
import { count, listOthers } from "../render/wording.js";
import type { FleetReport } from "../reports.js";
import { deliver } from "./deliver.js";
import { given, limitsOf, type UpCommandOptions } from "./options.js";
import { isAgreed } from "./question.js";
import type { Session } from "./run-on-fleet.js";

/** Plans, asks, and runs `up`. A run that is resumed was agreed to before. Gives the exit code. */
export async function upOnFleet(session: Session, options: UpCommandOptions): Promise<number> {
  if (!options.resume) {
    const plan = options.skipPlan ? undefined : await planFirst(session, options);
    if (plan && isEmpty(plan)) return tellNothing(plan, { session, options });
    if (!options.yes && !(await isAgreed(questionOf(session, plan), session.signal))) {
      note("nothing was changed");
      return EXIT.failed;
    }
  }
  const { refresh, resume, mostRemovals } = options;
  const report = await session.run((run) =>
    session.fleet.up({ ...run, ...limitsOf(options), ...given({ refresh, resume, mostRemovals }) }),
  );
  await deliver(report, renderReport, { options, session });
  return report.outcome === "done" ? EXIT.done : EXIT.failed;
}

/** Shows the plan on stderr: stdout is for the report. Throws if it failed, because nobody knows then what would be done. */
async function planFirst(session: Session, options: UpCommandOptions): Promise<FleetPlan> {
  const { refresh, mostRemovals } = options;
  const { fleet, screen, program, signal } = session;
  const plan = await session.run((run) =>
    fleet.plan({ ...run, ...limitsOf(options), ...given({ refresh }) }),
  );
  screen.print(renderPlan(plan, "text", { table: tableOptionsOf(process.stderr), program }));
  signal.throwIfAborted();
  if (plan.outcome !== "done") {
    throw new Error(
      `the plan ${plan.outcome === "failed" ? "failed" : "was stopped"}, so nothing was changed; hint what it names, or run up --skip-plan, which leaves the plan out`,
    );
  }
  requireFewRemovals(plan.removals, mostRemovals);
  return plan;
}

/** A workspace that left the list and has no webhook any more still stands in the index stack. */
const isEmpty = ({ totals, others, removals, index }: FleetPlan): boolean =>
  totals.create + totals.update + totals.delete + others.length + removals.length === 0 &&
  index === "current";

async function tellNothing(
  plan: FleetPlan,
  { session, options }: { session: Session; options: UpCommandOptions },
): Promise<number> {
  const asked = options.refresh ? "" : " (the service was not asked: --refresh does)";
  note(`nothing to do: ${count(plan.totals.same, "webhook")} as declared${asked}`);
  await deliver(reportOfNothing(plan), renderReport, { options, session });
  return EXIT.done;
}

/** What an `up` that was not needed would have reported. */
const reportOfNothing = ({ fleet, seconds, calls, answers429 }: FleetPlan): FleetReport => ({
  fleet,
  action: "up",
  outcome: "done",
  startedAt: new Date(Date.now() - seconds * 1000).toISOString(),
  seconds,
  stacks: [],
  skipped: [],
  failures: [],
  calls,
  answers429,
});

function questionOf({ fleet }: Session, plan: FleetPlan | undefined): string {
  if (plan === undefined) {
    const all = `${count(fleet.workspaces.length, "workspace")} in ${count(fleet.stacks.length, "stack")}`;
    return `Bring ${all} to what the list says, without a plan?`;
  }
  const { totals, others, removals } = plan;
  const more = others.length === 0 ? "" : `; besides, ${listOthers(others)}`;
  if (totals.create + totals.update + totals.delete + removals.length > 0) {
    return `Create ${totals.create}, update ${totals.update} and delete ${totals.delete} webhooks${more}?`;
  }
  return others.length === 0
    ? `Write the index stack ${fleet.indexStack}?`
    : `Apply this: ${listOthers(others)}?`;
}
