import { readFile } from "node:fs/promises";
import { Command } from "commander";
import type { FleetPlan } from "../../fleet/plan.js";
import type { FleetReport } from "../../fleet/reports.js";
import type { RotationReport } from "../../fleet/rotate.js";
import type { DriftReport } from "../../fleet/watch.js";
import { ENDINGS } from "../output.js";
import { UsageError } from "../usage-error.js";
import { fleetCommand, withReport } from "./command.js";
import type { Format, RenderOptions } from "./document.js";
import { renderDrift, renderPlan, renderReport, renderRotation } from "./render.js";
import type { FleetSource } from "./session.js";

export function reportsCommand(source: FleetSource): Command {
  const merge = new Command("merge")
    .description(
      "merge the JSON reports of all shards; for up and destroy, also update or remove the index stack",
    )
    .argument("<files...>", "the files of --json-file");
  fleetCommand(source, withReport(merge), {
    examples: ['report merge up-1.json up-2.json --markdown-file "$GITHUB_STEP_SUMMARY"'],
    endings: `${ENDINGS} A failure or a drift in any of the reports is 1.`,
    work: async ({ open, print }) => {
      const reports = await Promise.all(merge.args.map(readReport));
      requireAlike(reports);
      const merged = mergeReports(reports);
      const isIndexed = "action" in merged && ["up", "destroy"].includes(merged.action);
      return print(isIndexed ? await (await open()).recordIndex(merged) : merged, renderAny);
    },
  });
  return new Command("report").description("work with the reports of several machines").addCommand(merge);
}

function renderAny(report: AnyReport, format: Format, options?: RenderOptions): string {
  if ("checkedAt" in report) return renderDrift(report, format, options);
  if ("totals" in report) return renderPlan(report, format, options);
  return "rotation" in report
    ? renderRotation(report, format, options)
    : renderReport(report, format, options);
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
function requireAlike(reports: readonly AnyReport[]): void {
  const kinds = new Set(reports.map((report) => `${kindOf(report)} of ${report.fleet}`));
  if (kinds.size === 1) return;
  throw new UsageError(`the reports must come from one command and one fleet, got: ${[...kinds].join(", ")}`);
}

/** A report of one shard of a fleet, as `--json-file` writes it. */
type AnyReport = FleetReport | RotationReport | DriftReport | FleetPlan;

/** From best to worst. */
const OUTCOMES = ["done", "no-drift", "drift", "failed", "stopped"];

/**
 * Merges the reports of shards that ran the same command in parallel: lists are concatenated, counts are added, the outcome is the
 * worst one, and the time is the longest.
 */
const mergeReports = (reports: readonly AnyReport[]): AnyReport =>
  reports.reduce((merged, other) => mergeObjects(merged, other) as AnyReport);

function mergeObjects(one: object, other: object): object {
  const [values, more] = [one, other] as Record<string, unknown>[];
  const names = Object.keys({ ...one, ...other });
  return Object.fromEntries(names.map((name) => [name, mergeValues(name, values?.[name], more?.[name])]));
}

function mergeValues(name: string, one: unknown, other: unknown): unknown {
  // What one shard had no reason to note does not hold for all of them.
  if (name === "note" && one !== other) return undefined;
  if (one === undefined || other === undefined) return one ?? other;
  if (typeof one === "number" && typeof other === "number")
    return name === "seconds" ? Math.max(one, other) : one + other;
  if (Array.isArray(one) && Array.isArray(other)) return addCounts([...one, ...other] as object[]);
  if (typeof one === "object" && typeof other === "object") return mergeObjects(one ?? {}, other ?? {});
  const texts = [one, other] as string[];
  if (name === "outcome") return OUTCOMES[Math.max(...texts.map((text) => OUTCOMES.indexOf(text)))];
  if (name === "index") return texts.includes("stale") ? "stale" : one;
  if (name === "stoppedBy") return [...new Set(texts)].join("; ");
  // The earlier of two times; every other text is the same in all shards.
  return texts.toSorted()[0];
}

/** Makes one entry of those that differ only in their `count`. */
function addCounts(entries: object[]): object[] {
  if (!entries.every((entry) => "count" in entry)) return entries;
  const groups = Map.groupBy(entries, (entry) => JSON.stringify({ ...entry, count: 0 }));
  return [...groups.values()].map((same) => ({
    ...same[0],
    count: same.reduce((sum, { count }) => sum + Number(count), 0),
  }));
}
