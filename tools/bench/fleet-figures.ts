import Table from "cli-table3";
import { median } from "./measure.ts";
import { TABLE_STYLE, type Machine } from "./report.ts";

/** How the workspaces are split, in the order of table and plot, as people read it. */
export const SPLITS = {
  oneStack: "one stack",
  oneStackWithoutCheckpoints: "one stack, PULUMI_SKIP_CHECKPOINTS",
  fleet: "fleet",
};
export type Split = keyof typeof SPLITS;

/** What one `up` and one `refresh` of so many workspaces took. */
export interface SplitRun {
  split: Split;
  workspaces: number;
  stacks: number;
  upSeconds: number;
  refreshSeconds: number;
  /** The most memory that the processes held at one moment, without the service; undefined where that cannot be found out. */
  peakBytes: number | undefined;
}

/** One split at one number of workspaces. Times and memory are the median of `runs`. */
export interface SizeFigures {
  split: Split;
  workspaces: number;
  stacks: number;
  runs: number;
  upSeconds: number;
  refreshSeconds: number;
  peakMebibytes?: number;
}

/** What results/fleet.json holds: the numbers of the table and the plot. */
export interface FleetFigures {
  /** ISO 8601, UTC. */
  at: string;
  machine: Machine;
  sizes: SizeFigures[];
}

export function summarizeRuns(runs: readonly SplitRun[], machine: Machine): FleetFigures {
  const order = Object.keys(SPLITS);
  const groups = Map.groupBy(runs, ({ split, workspaces }) => `${split} ${workspaces}`);
  const sizes = [...groups.values()]
    .flatMap(summarizeSize)
    .toSorted((a, b) => order.indexOf(a.split) - order.indexOf(b.split) || a.workspaces - b.workspaces);
  return { at: new Date().toISOString(), machine, sizes };
}

function summarizeSize(runs: readonly SplitRun[]): SizeFigures[] {
  const secondsOf = (name: "upSeconds" | "refreshSeconds"): number =>
    Math.round(median(runs.map((run) => run[name])) * 10) / 10;
  const peaks = runs.flatMap(({ peakBytes }) => peakBytes ?? []);
  return runs.slice(0, 1).map(({ split, workspaces, stacks }) => ({
    split,
    workspaces,
    stacks,
    runs: runs.length,
    upSeconds: secondsOf("upSeconds"),
    refreshSeconds: secondsOf("refreshSeconds"),
    ...(peaks.length > 0 && { peakMebibytes: Math.round(median(peaks) / 2 ** 20) }),
  }));
}

export function formatFigures({ sizes }: FleetFigures): string {
  const table = new Table({
    head: ["split", "workspaces", "stacks", "up", "refresh", "peak memory"],
    ...TABLE_STYLE,
  });
  for (const { split, workspaces, stacks, upSeconds, refreshSeconds, peakMebibytes } of sizes) {
    const peak = peakMebibytes === undefined ? "not known" : `${peakMebibytes} MiB`;
    table.push([SPLITS[split], workspaces, stacks, `${upSeconds} s`, `${refreshSeconds} s`, peak]);
  }
  return table.toString();
}
