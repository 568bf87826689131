import type { Machine } from "../report.ts";
import { median } from "../measure.ts";
import type { Split, SplitRun } from "./place.ts";

/** What results/fleet.json holds: the numbers of the table and the plot. */
export interface FleetFigures {
  /** ISO 8601, UTC. */
  at: string;
  machine: Machine;
  sizes: SizeFigures[];
}

/** One split at one number of workspaces. Times and memory are the median of `runs`. */
export interface SizeFigures {
  split: Split;
  workspaces: number;
  stacks: number;
  runs: number;
  upSeconds: number;
  refreshSeconds: number;
  /** Left out where it could not be measured. */
  peakMebibytes?: number;
  upCalls: number;
  refreshCalls: number;
  /** Left out for one stack. */
  indexedBotUrls?: number;
}

/** The splits in the order of table and plot, as people read them. */
export const SPLIT_NAMES: Record<Split, string> = {
  oneStack: "one stack",
  oneStackWithoutCheckpoints: "one stack, PULUMI_SKIP_CHECKPOINTS",
  fleet: "fleet",
};

export function summarizeRuns(runs: readonly SplitRun[], machine: Machine): FleetFigures {
  const groups = Object.values(
    Object.groupBy(runs, ({ split, workspaces }) => `${split} ${workspaces}`),
  ) as SplitRun[][];
  const order = Object.keys(SPLIT_NAMES);
  const sizes = groups
    .flatMap(summarizeSize)
    .toSorted((a, b) => order.indexOf(a.split) - order.indexOf(b.split) || a.workspaces - b.workspaces);
  return { at: new Date().toISOString(), machine, sizes };
}

function summarizeSize(runs: readonly SplitRun[]): SizeFigures[] {
  const [first] = runs;
  if (!first) return [];
  const peaks = runs.map(({ peakBytes }) => peakBytes).filter((bytes) => bytes !== undefined);
  return [
    {
      split: first.split,
      workspaces: first.workspaces,
      stacks: first.stacks,
      runs: runs.length,
      upSeconds: round(median(runs.map(({ upSeconds }) => upSeconds))),
      refreshSeconds: round(median(runs.map(({ refreshSeconds }) => refreshSeconds))),
      ...(peaks.length > 0 && { peakMebibytes: Math.round(median(peaks) / 2 ** 20) }),
      upCalls: sum(first.upCalls),
      refreshCalls: sum(first.refreshCalls),
      ...(first.indexedBotUrls !== undefined && { indexedBotUrls: first.indexedBotUrls }),
    },
  ];
}

const round = (seconds: number): number => Math.round(seconds * 10) / 10;
const sum = (calls: Record<string, number>): number =>
  Object.values(calls).reduce((all, one) => all + one, 0);

const HEADER = [
  "split",
  "workspaces",
  "stacks",
  "`up`",
  "`refresh`",
  "peak memory",
  "calls of `up`, `refresh`",
  "bot URLs in the index",
];

/** A Markdown table, with columns as wide as prettier makes them. The column of the memory only where it was measured. */
export function formatFigures({ sizes }: FleetFigures): string {
  const rows = [HEADER, ...sizes.map(describeSize)];
  const isMeasured = sizes.some(({ peakMebibytes }) => peakMebibytes !== undefined);
  const lines = rows.map((cells) =>
    cells.filter((_, column) => isMeasured || HEADER[column] !== "peak memory"),
  );
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(3, ...lines.map((cells) => cells[column]?.length ?? 0)),
  );
  const format = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  const [header = "", ...body] = lines.map(format);
  return [header, rule, ...body].join("\n");
}

function describeSize(size: SizeFigures): string[] {
  const { split, workspaces, stacks, upSeconds, refreshSeconds, peakMebibytes, indexedBotUrls } = size;
  return [
    SPLIT_NAMES[split],
    formatCount(workspaces),
    formatCount(stacks),
    `${upSeconds.toFixed(1)} s`,
    `${refreshSeconds.toFixed(1)} s`,
    peakMebibytes === undefined ? "" : `${formatCount(peakMebibytes)} MiB`,
    `${formatCount(size.upCalls)}, ${formatCount(size.refreshCalls)}`,
    indexedBotUrls === undefined ? "" : formatCount(indexedBotUrls),
  ];
}

const formatCount = (count: number): string => count.toLocaleString("en-US");
