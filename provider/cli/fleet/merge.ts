import type { DriftReport } from "../../fleet/watch.js";
import type { FleetPlan } from "../../fleet/plan.js";
import type { FleetReport } from "../../fleet/reports.js";
import type { RotationReport } from "../../fleet/rotate.js";

/** A report of one share of a fleet, as `--json-file` writes it. */
export type AnyReport = FleetReport | RotationReport | DriftReport | FleetPlan;

type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
type JsonObject = Record<string, Json>;

/** The better ones first. */
const OUTCOMES = ["done", "no-drift", "drift", "failed", "stopped"];

/**
 * Joins the reports of shares that ran the same command side by side: lists follow each other, counts are added, the outcome is
 * the worst one, and the time is that of the longest.
 */
export const mergeReports = <Report extends AnyReport>([first, ...others]: readonly [
  Report,
  ...Report[],
]): Report =>
  others.reduce(
    (merged: JsonObject, other) => mergeObjects(merged, other as unknown as JsonObject),
    first as unknown as JsonObject,
  ) as unknown as Report;

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
  // The earliest of two times; all other texts are the same in every share.
  return typeof one === "string" && typeof other === "string" && other < one ? other : one;
}

/** Entries that differ in their `count` alone are one. */
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
