import { readFile } from "node:fs/promises";
import { Command } from "commander";
import type { CreateCounts, FleetPlan, UnknownReason } from "../../fleet/plan.js";
import type { KeysByWorkspace } from "../../fleet/rotate.js";
import { ENDINGS } from "../output.js";
import { UsageError } from "../usage-error.js";
import { fleetCommand, withReport, type FleetSource } from "./command.js";
import type { AnyReport } from "./render.js";

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
      const merged = reports.reduce(mergeTwo);
      const isIndexed = merged.action === "up" || merged.action === "destroy";
      return print(isIndexed ? await (await open()).recordIndex(merged) : merged);
    },
  });
  return new Command("report").description("work with the reports of several machines").addCommand(merge);
}

async function readReport(file: string): Promise<AnyReport> {
  try {
    const report = JSON.parse(await readFile(file, "utf8")) as Partial<AnyReport>;
    if (report.fleet !== undefined && report.action !== undefined) return report as AnyReport;
  } catch (error) {
    throw new UsageError(`${file}: cannot be read as JSON (${(error as Error).name})`);
  }
  throw new UsageError(`${file}: is not a report of a fleet; pass the files that --json-file wrote`);
}

/** Throws if they are not of one fleet and one command. */
function requireAlike(reports: readonly AnyReport[]): void {
  const kinds = new Set(reports.map(({ action, fleet }) => `${action} of ${fleet}`));
  if (kinds.size === 1) return;
  throw new UsageError(`the reports must come from one command and one fleet, got: ${[...kinds].join(", ")}`);
}

/** From best to worst. */
const OUTCOMES = ["done", "no-drift", "drift", "failed", "stopped"];

type Merge = (one: never, other: never) => unknown;

type FieldOf<Report> = Report extends Report ? keyof Report : never;

const same = <T>(one: T): T => one;
const add = (one: number, other: number): number => one + other;
const join = <T>(one: readonly T[], other: readonly T[]): T[] => [...one, ...other];

/** How the values of a field become one. A field has one meaning, whichever command the reports are of. */
const MERGES: Record<FieldOf<AnyReport>, Merge> = {
  fleet: same,
  action: same,
  rotation: same,
  outcome: (one: string, other: string) => OUTCOMES[Math.max(OUTCOMES.indexOf(one), OUTCOMES.indexOf(other))],
  startedAt: (one: string, other: string) => (one < other ? one : other),
  // The shards ran in parallel.
  seconds: Math.max,
  stoppedBy: (one?: string, other?: string) =>
    [...new Set([one, other])].filter((why) => why !== undefined).join("; ") || undefined,
  // What one shard notes does not hold for all of them.
  note: (one?: string, other?: string) => (one === other ? one : undefined),
  index: (one: FleetPlan["index"], other: FleetPlan["index"]) => (one === "stale" ? one : other),
  checked: add,
  randomKeys: add,
  stacks: join,
  skipped: join,
  failures: join,
  waves: join,
  removals: join,
  workspaces: join,
  others: join,
  creates: (one: CreateCounts, other: CreateCounts) => ({
    free: one.free + other.free,
    adopted: one.adopted + other.adopted,
    taken: one.taken + other.taken,
    unknown: one.unknown + other.unknown,
  }),
  keys: (one: KeysByWorkspace, other: KeysByWorkspace) => ({
    new: join(one.new, other.new),
    old: join(one.old, other.old),
    unknown: join(one.unknown, other.unknown),
  }),
  unknownReasons: (one: readonly UnknownReason[], other: readonly UnknownReason[]) => {
    const groups = Map.groupBy([...one, ...other], ({ reason }) => reason).values();
    return [...groups].map((alike) =>
      alike.reduce((all, { count }) => ({ ...all, count: all.count + count })),
    );
  },
};

function mergeTwo(one: AnyReport, other: AnyReport): AnyReport {
  const [values, more] = [one, other] as unknown as Record<string, never>[];
  const fields = Object.entries<Merge>(MERGES).filter(([name]) => name in one || name in other);
  const merged = fields.map(([name, merge]) => [name, merge(values?.[name] as never, more?.[name] as never)]);
  return Object.fromEntries(merged) as AnyReport;
}
