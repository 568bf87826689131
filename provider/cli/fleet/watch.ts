import { Command } from "commander";
import type { RunOptions } from "../../fleet/index.js";
import { JSON_FAILURES } from "../output.js";
import { runCommand, type FleetSource } from "./command.js";

/** How `watch` ends: a job can tell drift from a watch that failed. */
const CODES = { "no-drift": 0, drift: 1, failed: 2 } as const;

export const watchCommand = (source: FleetSource): Command =>
  runCommand<RunOptions>(
    source,
    new Command("watch").description("check whether service, stacks and list agree; changes nothing"),
    {
      about: `Reports each difference by workspace and property, with both values (for keys, only that they differ) and the
command that repairs it. Workspaces that are declared but not deployed, or deployed but no longer in the list, also
count as drift.`,
      examples: ["watch", 'watch --markdown-file "$GITHUB_STEP_SUMMARY" --json-file drift.json'],
      endings: `
Exit code: 0 no drift, 1 drift, 2 failure, usage or configuration error (even with drift), 130 interrupted (Ctrl-C).
${JSON_FAILURES}`,
      failed: CODES.failed,
      work: async ({ fleet, run, print }, options) => {
        const report = await run((given) => fleet.watch({ ...given, ...options }));
        await print(report);
        return CODES[report.outcome];
      },
    },
  );
