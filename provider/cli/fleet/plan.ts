import { Command } from "commander";
import { refuseTooManyRemovals } from "../../fleet/index-stack.js";
import { DEFAULT_MAX_REMOVALS } from "../../fleet/options.js";
import { ENDINGS } from "../output.js";
import { parseCountOrNone, pickOptions, runCommand, type RunCommandOptions } from "./command.js";
import { renderPlan } from "./render.js";
import type { FleetSource } from "./session.js";

export interface PlanCommandOptions extends RunCommandOptions {
  refresh?: boolean;
  maxRemovals?: number;
}

export const MAX_REMOVALS_OPTION = [
  "--max-removals <n>",
  `how many workspaces that left the list may be removed (default ${DEFAULT_MAX_REMOVALS})`,
  parseCountOrNone,
] as const;

export const planCommand = (source: FleetSource): Command =>
  runCommand<PlanCommandOptions>(
    source,
    new Command("plan")
      .description("report what each stack would do, and what is registered where a webhook would be created")
      .option("--refresh", "ask the service first, so that drift shows too")
      .option(...MAX_REMOVALS_OPTION),
    {
      about: `Previews each stack. For every webhook that would be created, it queries what is registered: free, adopted (your
URL), taken (a different URL) or unknown. It names the workspaces that are no longer in the list, and changes nothing.`,
      examples: ["plan", "plan --refresh --markdown-file plan.md"],
      endings: `${ENDINGS} Pending changes also exit with 0; more removals than up allows, with 2.`,
      work: async ({ fleet, run, print }, options) => {
        const plan = await run((given) => fleet.plan({ ...given, ...pickOptions(options, "refresh") }));
        const code = await print(plan, renderPlan);
        // Changes to come are no failure, but more removals than `up` allows are what it would throw.
        refuseTooManyRemovals(plan.removals, options.maxRemovals);
        return code;
      },
    },
  );
