import { Command } from "commander";
import type { FleetPlan, UpOptions } from "../../fleet/index.js";
import { parseCountOrNone } from "../option-values.js";
import { ENDINGS, EXIT, note, paintOnStderr } from "../output.js";
import { runCommand, type FleetSource, type Session } from "./command.js";
import { count, countChanges, listKeys, renderReport } from "./render.js";

type UpCommandOptions = UpOptions & { skipPlan?: boolean };

const MAX_REMOVALS_OPTION = [
  "--max-removals <n>",
  "how many workspaces may be removed because they left the list (default 10)",
  parseCountOrNone,
] as const;

export const planCommand = (source: FleetSource): Command =>
  runCommand<UpOptions>(
    source,
    new Command("plan")
      .description("report what up would do in each stack; for each new webhook, query what is registered")
      .option("--refresh", "query the service first, to show drift as well")
      .option(...MAX_REMOVALS_OPTION),
    {
      about: `Previews each stack. For every webhook that up would create, asks the service what is registered:
nothing (free), your URL (adopted) or a different URL (taken). Names the workspaces that are no longer in the
list. Changes nothing.`,
      examples: ["plan", "plan --refresh --json > plan.json"],
      endings: `${ENDINGS} Also 0 if changes are pending, and 2 if there are more removals than up allows.`,
      work: ({ fleet, report }, options) => report((given) => fleet.plan({ ...given, ...options })),
    },
  );

export const upCommand = (source: FleetSource): Command =>
  runCommand<UpCommandOptions>(
    source,
    new Command("up")
      .description("show the plan, prompt, and bring every stack in line with the list")
      .option("--refresh", "query the service first, to repair drift as well")
      .option("--skip-plan", "prompt without showing a plan")
      .option(...MAX_REMOVALS_OPTION),
    {
      about: `Prints the plan on stderr, then prompts. Without a terminal, pass --yes. If you answer no, the exit
code is 1. If there is nothing to do, up does not prompt. One failing workspace does not stop the others. After
a run that was interrupted or had failures, run up again: finished work is kept.`,
      examples: ["up", "up --yes --stacks-at-once 4 --json > up.json"],
      asks: true,
      work: upOnFleet,
    },
  );

async function upOnFleet(session: Session, { skipPlan, ...options }: UpCommandOptions): Promise<number> {
  const { fleet } = session;
  const plan = skipPlan ? undefined : await planFirst(session, options);
  if (plan && isEmpty(plan)) return reportNothing(plan, session, options);
  const all = count(fleet.workspaces.length, "workspace");
  const question = plan ? "Apply this plan?" : `Bring ${all} in line with the list, without a plan?`;
  if (!(await session.confirm(`${question} (y/N) `))) return EXIT.failed;
  return session.report((given) => fleet.up({ ...given, ...options }));
}

/** Shows the plan on stderr: stdout is for the report. Throws if the plan failed, because it may be incomplete. */
async function planFirst({ fleet, program, run, signal }: Session, options: UpOptions): Promise<FleetPlan> {
  const plan = await run((given) => fleet.plan({ ...given, ...options }));
  process.stderr.write(renderReport(plan, program, paintOnStderr));
  signal.throwIfAborted();
  if (plan.outcome !== "done") {
    throw new Error(
      `the plan ${plan.outcome === "failed" ? "failed" : "was stopped"}, so nothing was changed; ` +
        "fix what it reports, or run up --skip-plan",
    );
  }
  return plan;
}

/** Also checks the index stack: it may contain a workspace that left the list and has no webhook. */
function isEmpty(plan: FleetPlan): boolean {
  const { create, update, delete: deleted } = countChanges(plan.stacks);
  const isWithout = create + update + deleted + plan.removals.length === 0;
  return isWithout && listKeys(plan.stacks) === "" && plan.index === "current";
}

function reportNothing(plan: FleetPlan, { print }: Session, { refresh }: UpOptions): Promise<number> {
  const compared = refresh ? "" : " (not compared with the service; use --refresh for that)";
  const { same } = countChanges(plan.stacks);
  note(`nothing to do: ${count(same, "webhook")} as declared${compared}`);
  return print({ ...plan, action: "up", stacks: [] });
}
