import { Command } from "commander";
import { refuseTooManyRemovals } from "../../fleet/index-stack.js";
import type { FleetPlan } from "../../fleet/plan.js";
import type { FleetReport } from "../../fleet/reports.js";
import { EXIT, note } from "../output.js";
import { tableOptionsOf } from "../table.js";
import { pickOptions, runCommand, type ReportSession, type FleetSession } from "./command.js";
import { count } from "./document.js";
import { MAX_REMOVALS_OPTION, type PlanCommandOptions } from "./plan.js";
import { listOthers, renderPlan, renderReport } from "./render.js";
import { isAgreed, type FleetSource } from "./session.js";

interface UpCommandOptions extends PlanCommandOptions {
  onlyFailed?: boolean;
  skipPlan?: boolean;
}

export const upCommand = (source: FleetSource): Command =>
  runCommand<UpCommandOptions>(
    source,
    new Command("up")
      .description("show the plan, ask, and bring every stack in line with the list")
      .option("--refresh", "ask the service first, so that drift is repaired too")
      .option(
        "--only-failed",
        "only the stacks that the last up on this machine did not finish: no plan, no question",
      )
      .option("--skip-plan", "ask without a plan")
      .option("--yes", "do not ask")
      .option(...MAX_REMOVALS_OPTION),
    {
      about: `It prints the plan on stderr, then asks. Without a terminal, pass --yes. Answering no exits with 1. If there is
nothing to do, it does not ask. One failing workspace does not stop the others. After a run that was interrupted or had
failures, run up again: what is done is done, or give --only-failed.`,
      examples: ["up", "up --yes --stacks-at-once 4 --json-file up.json", "up --only-failed"],
      isAgreed: ({ onlyFailed, yes }) => onlyFailed ?? yes,
      work: upOnFleet,
    },
  );

async function upOnFleet(session: ReportSession, options: UpCommandOptions): Promise<number> {
  if (!options.onlyFailed) {
    const plan = options.skipPlan ? undefined : await planFirst(session, options);
    if (plan && isEmpty(plan)) return reportNothing(plan, session, options);
    if (!options.yes && !(await isAgreed(questionOf(session, plan), session.signal))) {
      note("nothing was changed");
      return EXIT.failed;
    }
  }
  const own = pickOptions(options, "refresh", "onlyFailed", "maxRemovals");
  const report = await session.run((given) => session.fleet.up({ ...given, ...own }));
  return session.print(report, renderReport);
}

/** Shows the plan on stderr: stdout is for the report. Throws if it failed, because nobody knows then what would be done. */
async function planFirst(session: FleetSession, options: UpCommandOptions): Promise<FleetPlan> {
  const { fleet, screen, program, signal } = session;
  const plan = await session.run((given) => fleet.plan({ ...given, ...pickOptions(options, "refresh") }));
  screen.print(renderPlan(plan, "text", { table: tableOptionsOf(process.stderr), program }));
  signal.throwIfAborted();
  if (plan.outcome !== "done") {
    throw new Error(
      `the plan ${plan.outcome === "failed" ? "failed" : "was stopped"}, so nothing was changed; fix what it names, or run up --skip-plan`,
    );
  }
  refuseTooManyRemovals(plan.removals, options.maxRemovals);
  return plan;
}

/** A workspace that left the list and no longer has a webhook is still in the index stack. */
const isEmpty = ({ totals, others, removals, index }: FleetPlan): boolean =>
  totals.create + totals.update + totals.delete + others.length + removals.length === 0 &&
  index === "current";

function reportNothing(
  { fleet, seconds, totals }: FleetPlan,
  { print }: ReportSession,
  { refresh }: UpCommandOptions,
): Promise<number> {
  const asked = refresh ? "" : " (not compared with the service; use --refresh for that)";
  note(`nothing to do: ${count(totals.same, "webhook")} as declared${asked}`);
  const startedAt = new Date(Date.now() - seconds * 1000).toISOString();
  const nothing = { stacks: [], skipped: [], failures: [] };
  const report: FleetReport = { fleet, action: "up", outcome: "done", startedAt, seconds, ...nothing };
  return print(report, renderReport);
}

function questionOf({ fleet }: FleetSession, plan: FleetPlan | undefined): string {
  if (plan === undefined) {
    const all = `${count(fleet.workspaces.length, "workspace")} in ${count(fleet.stacks.length, "stack")}`;
    return `Bring ${all} in line with the list, without a plan?`;
  }
  const { totals, others, removals } = plan;
  const more = others.length === 0 ? "" : `; also, ${listOthers(others)}`;
  if (totals.create + totals.update + totals.delete + removals.length > 0) {
    return `Create ${totals.create}, update ${totals.update} and delete ${totals.delete} webhooks${more}?`;
  }
  return others.length === 0
    ? `Write the index stack ${fleet.indexStack}?`
    : `Apply this: ${listOthers(others)}?`;
}
