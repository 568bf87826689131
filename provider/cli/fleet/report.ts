import { readFile } from "node:fs/promises";
import { Command } from "commander";
import type { FleetPlan } from "../../fleet/plan.js";
import type { FleetReport } from "../../fleet/reports.js";
import type { RotationReport } from "../../fleet/rotate.js";
import type { DriftReport } from "../../fleet/watch.js";
import { ENDINGS } from "../output.js";
import { UsageError } from "../usage-error.js";
import { closedReportCommand } from "./command.js";
import type { Format, RenderOptions } from "./document.js";
import { renderDrift, renderPlan, renderReport, renderRotation } from "./render.js";
import type { FleetSource } from "./session.js";

export function reportsCommand(source: FleetSource): Command {
  const merge = new Command("merge")
    .description("merge the JSON reports of all shards; for up and destroy, also update the index stack")
    .argument("<files...>", "the files of --json-file");
  closedReportCommand(source, merge, {
    examples: ['report merge up-1.json up-2.json --markdown-file "$GITHUB_STEP_SUMMARY"'],
    endings: `${ENDINGS} A failure or a drift in any of the reports is 1.`,
    work: async ({ open, print }) => {
      const reports = await Promise.all(merge.args.map(readReport));
      requireAlike(reports);
      const merged = mergeReports(reports);
      const isIndexed = "action" in merged && ["up", "destroy"].includes(merged.action);
      if (!isIndexed) return print(merged, renderAny);
      const fleet = await open();
      return print(await fleet.recordIndex(merged), renderAny);
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

/** Throws if they come from different fleets or commands. */
function requireAlike(reports: readonly AnyReport[]): void {
  const kinds = new Set(reports.map((report) => `${kindOf(report)} of ${report.fleet}`));
  if (kinds.size === 1) return;
  throw new UsageError(`the reports must come from one command and one fleet, got: ${[...kinds].join(", ")}`);
}

/** A report of one shard of a fleet, as `--json-file` writes it. */
type AnyReport = FleetReport | RotationReport | DriftReport | FleetPlan;

type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
type JsonObject = Record<string, Json>;

/** From best to worst. */
const OUTCOMES = ["done", "no-drift", "drift", "failed", "stopped"];

/**
 * Merges the reports of shards that ran the same command in parallel: lists are joined, counts are added, the outcome is the worst
 * and the time the longest one.
 */
const mergeReports = (reports: readonly AnyReport[]): AnyReport =>
  (reports as unknown as JsonObject[]).reduce(mergeObjects) as unknown as AnyReport;

function mergeObjects(one: JsonObject, other: JsonObject): JsonObject {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...names].map((name) => [name, mergeValues(name, one[name], other[name])]));
}

function mergeValues(name: string, one: Json | undefined, other: Json | undefined): Json {
  if (one === undefined || other === undefined) return one ?? other ?? null;
  if (name === "outcome")
    return OUTCOMES.indexOf(one as string) < OUTCOMES.indexOf(other as string) ? other : one;
  if (name === "index") return one === "stale" ? one : other;
  if (typeof one === "number" && typeof other === "number")
    return name === "seconds" ? Math.max(one, other) : one + other;
  if (Array.isArray(one) && Array.isArray(other)) return joinLists([...one, ...other]);
  if (isObject(one) && isObject(other)) return mergeObjects(one, other);
  // The earlier of two times; all other texts are the same in every shard.
  return typeof one === "string" && typeof other === "string" && other < one ? other : one;
}

/** Adds up entries that differ only in `count`. */
function joinLists(entries: Json[]): Json[] {
  if (!entries.every(isCounted)) return entries;
  const groups = Map.groupBy(entries, (entry) => JSON.stringify({ ...entry, count: 0 }));
  return [...groups.values()].map((same) => ({
    ...same[0],
    count: same.reduce((sum, { count }) => sum + count, 0),
  }));
}

const isCounted = (value: Json): value is JsonObject & { count: number } =>
  isObject(value) && typeof value["count"] === "number";

const isObject = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
