import { readFile } from "node:fs/promises";
import { Command } from "commander";
import type { AnyReport } from "./merge.js";
import { ENDINGS, EXIT } from "../output.js";
import { UsageError } from "../usage-error.js";
import {
  addOutputOptions,
  checkFolders,
  printReport,
  runOnFleet,
  type FleetSource,
  type RunCommandOptions,
  type Session,
} from "./session.js";

export const reportCommand = (source: FleetSource): Command =>
  new Command("report").description("work with the reports of several machines").addCommand(
    addOutputOptions(new Command("merge"))
      .description(
        "join the JSON reports of all shares into one; those of up and destroy go into the index stack too",
      )
      .argument("<files...>", "the files of --json-file")
      .addHelpText("after", helpOf(source.name))
      .action((files: string[], options: RunCommandOptions) =>
        runOnFleet(source, {
          check: () => checkFolders(options),
          work: (session) => mergeFiles(session, files, options),
        }),
      ),
  );

async function mergeFiles(
  session: Session,
  files: readonly string[],
  options: RunCommandOptions,
): Promise<number> {
  const [{ mergeReports }, renderers] = await Promise.all([import("./merge.js"), import("./render.js")]);
  const merged = mergeReports(requireAlike(await Promise.all(files.map(readReport))));
  const isIndexed = "action" in merged && ["up", "destroy"].includes(merged.action);
  const report = isIndexed ? await session.fleet.recordIndex(merged) : merged;
  const output = { options, session };
  if ("checkedAt" in report) await printReport(report, renderers.renderDrift, output);
  else if ("totals" in report) await printReport(report, renderers.renderPlan, output);
  else if ("rotation" in report) await printReport(report, renderers.renderRotation, output);
  else await printReport(report, renderers.renderReport, output);
  return ["done", "no-drift"].includes(report.outcome) ? EXIT.done : EXIT.failed;
}

async function readReport(file: string): Promise<AnyReport> {
  try {
    const report = JSON.parse(await readFile(file, "utf8")) as Partial<AnyReport>;
    if (report.fleet !== undefined && report.outcome !== undefined) return report as AnyReport;
  } catch (error) {
    throw new UsageError(`${file}: cannot be read as JSON (${(error as Error).name})`);
  }
  throw new UsageError(`${file}: is not a report of a fleet; give the files that --json-file wrote`);
}

const kindOf = (report: AnyReport): string =>
  "checkedAt" in report ? "watch" : "totals" in report ? "plan" : report.action;

/** Throws if they are not of one fleet and one command. */
function requireAlike(reports: readonly AnyReport[]): [AnyReport, ...AnyReport[]] {
  const [first, ...others] = reports;
  const kinds = new Set(reports.map((report) => `${kindOf(report)} of ${report.fleet}`));
  if (first !== undefined && kinds.size === 1) return [first, ...others];
  throw new UsageError(`the reports must be of one command, and are of ${[...kinds].join(", ")}`);
}

const helpOf = (name: string): string => `
Examples:
  $ ${name} report merge up-1.json up-2.json --markdown-file "$GITHUB_STEP_SUMMARY"
${ENDINGS} A failure or a drift in any of the reports is 1.`;
