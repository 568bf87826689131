import { Command } from "commander";
import type { UpOptions } from "../../fleet/index.js";
import { parseCountOrNone } from "../option-values.js";
import { ENDINGS } from "../output.js";
import { runCommand, type FleetSource } from "./command.js";

export const MAX_REMOVALS_OPTION = [
  "--max-removals <n>",
  "how many workspaces that left the list may be removed (default 10)",
  parseCountOrNone,
] as const;

export const planCommand = (source: FleetSource): Command =>
  runCommand<UpOptions>(
    source,
    new Command("plan")
      .description("report what each stack would do, and what is registered where a webhook would be created")
      .option("--refresh", "query the service first, so that drift shows too")
      .option(...MAX_REMOVALS_OPTION),
    {
      about: `Previews each stack. For every webhook that would be created, it queries what is registered: free, adopted (your
URL) or taken (a different URL). It names the workspaces that are no longer in the list, and changes nothing.`,
      examples: ["plan", "plan --refresh --json-file plan.json"],
      endings: `${ENDINGS} Pending changes also exit with 0; more removals than up allows, with 2.`,
      work: async ({ fleet, run, print }, options) =>
        print(await run((given) => fleet.plan({ ...given, ...options }))),
    },
  );
