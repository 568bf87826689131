import { Command } from "commander";
import { JSON_FAILURES } from "../output.js";
import {
  addRunOptions,
  checkFolders,
  pickOptions,
  printReport,
  runOnFleet,
  STOPPING,
  type FleetSource,
  type RunCommandOptions,
} from "./session.js";

/** How `watch` ends: a job tells drift from a watch that failed. */
const CODES = { "no-drift": 0, drift: 1, failed: 2 } as const;

export const watchCommand = (source: FleetSource): Command =>
  addRunOptions(new Command("watch"))
    .description("check whether service, stacks and list agree; changes nothing")
    .addHelpText("after", helpOf(source.name))
    .action((options: RunCommandOptions) =>
      runOnFleet(source, {
        check: () => checkFolders(options),
        failed: CODES.failed,
        work: async (session) => {
          const given = { ...pickOptions(options), command: session.program };
          const report = await session.run((run) => session.fleet.watch({ ...run, ...given }));
          await printReport(report, (await import("./render.js")).renderDrift, { options, session });
          return CODES[report.outcome];
        },
      }),
    );

const helpOf = (name: string): string => `
Reports what differs, by workspace and property with both values (of keys only that they differ), and which command repairs it.
What is declared and not deployed, and what left the list and is still deployed, is drift too.
${STOPPING}

Examples:
  $ ${name} watch
  $ ${name} watch --markdown-file "$GITHUB_STEP_SUMMARY" --json-file drift.json

Exit code: 0 no drift, 1 drift, 2 a failure, also wrong use or a wrong configuration, 130 ended by Ctrl-C. Failure and drift are 2.
${JSON_FAILURES}`;
