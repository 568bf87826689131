import { Command } from "commander";
import { DEFAULT_MOST_REMOVALS } from "../../fleet/options.js";
import { ENDINGS, EXIT } from "../output.js";
import {
  addRunOptions,
  checkFolders,
  parseCountOrNone,
  pickOptions,
  printReport,
  runOnFleet,
  STOPPING,
  type FleetSource,
  type RunCommandOptions,
  type Session,
} from "./session.js";

export interface PlanCommandOptions extends RunCommandOptions {
  refresh?: boolean;
  mostRemovals?: number;
}

export const MOST_REMOVALS_OPTION = [
  "--most-removals <n>",
  `how many workspaces that left the list may be removed (default ${DEFAULT_MOST_REMOVALS})`,
  parseCountOrNone,
] as const;

export const planCommand = (source: FleetSource): Command =>
  addRunOptions(new Command("plan"))
    .description("report what each stack would do, and what is registered where a webhook would be created")
    .option("--refresh", "ask the service first, so that drift shows too")
    .option(...MOST_REMOVALS_OPTION)
    .addHelpText("after", helpOf(source.name))
    .action((options: PlanCommandOptions) =>
      runOnFleet(source, {
        check: () => checkFolders(options),
        work: (session) => printPlan(session, options),
      }),
    );

/** Changes to come are no failure, but more removals than `up` allows are: throws what it would throw. */
async function printPlan(session: Session, options: PlanCommandOptions): Promise<number> {
  const [{ requireFewRemovals }, { renderPlan }] = await Promise.all([
    import("../../fleet/index-stack.js"),
    import("./render.js"),
  ]);
  const plan = await session.run((run) => session.fleet.plan({ ...run, ...pickOptions(options, "refresh") }));
  await printReport(plan, renderPlan, { options, session });
  requireFewRemovals(plan.removals, options.mostRemovals);
  return plan.outcome === "done" ? EXIT.done : EXIT.failed;
}

const helpOf = (name: string): string => `
Each stack is previewed. Where a webhook would be created, the service is asked what is registered: free, adopted (your URL
is registered), taken (another URL), unknown. Workspaces that left the list are named. Nothing is changed.
${STOPPING}

Examples:
  $ ${name} plan
  $ ${name} plan --refresh --markdown-file plan.md
${ENDINGS} Changes to come are 0 too; more removals than up allows are 2.`;
