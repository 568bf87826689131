import Table from "cli-table3";
import { readFile, writeFile } from "node:fs/promises";
import { median } from "./measure.ts";
import { TABLE_STYLE, type Machine } from "./report.ts";

/** How the workspaces are split, in the order of table and plot, as people read it. */
export const SPLITS = {
  oneStack: "one stack",
  oneStackWithoutCheckpoints: "one stack, PULUMI_SKIP_CHECKPOINTS",
  fleet: "fleet",
};
export type Split = keyof typeof SPLITS;

/** The commands that are measured, in the order in which they run. One stack has no `watch` and no `rotate`. */
export const COMMANDS = ["up", "refresh", "watch", "rotate", "destroy"] as const;
export type Command = (typeof COMMANDS)[number];

/** What each command took on so many workspaces. */
export interface SplitRun {
  split: Split;
  workspaces: number;
  stacks: number;
  seconds: Partial<Record<Command, number>>;
  /** To the service, over all commands. */
  calls: number;
  /** The most memory that the processes held at one moment, without the service; absent where that cannot be found out. */
  peakMebibytes?: number;
}

/** One split at one number of workspaces. Times and memory are the median of `runs`. */
interface SizeFigures extends SplitRun {
  runs: number;
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

const roundedMedian = (values: readonly number[]): number => Math.round(median(values) * 10) / 10;

function summarizeSize(runs: readonly SplitRun[]): SizeFigures[] {
  const peaks = runs.flatMap(({ peakMebibytes }) => peakMebibytes ?? []);
  const secondsOf = (command: Command): number[] => runs.flatMap(({ seconds }) => seconds[command] ?? []);
  const measured = COMMANDS.filter((command) => secondsOf(command).length > 0);
  return runs.slice(0, 1).map(({ split, workspaces, stacks }) => ({
    split,
    workspaces,
    stacks,
    runs: runs.length,
    seconds: Object.fromEntries(measured.map((command) => [command, roundedMedian(secondsOf(command))])),
    calls: median(runs.map(({ calls }) => calls)),
    ...(peaks.length > 0 && { peakMebibytes: Math.round(median(peaks)) }),
  }));
}

export function formatFigures({ sizes }: FleetFigures): string {
  const head = ["split", "workspaces", "stacks", ...COMMANDS, "calls", "peak memory"];
  const table = new Table({ head, ...TABLE_STYLE });
  for (const { split, workspaces, stacks, seconds, calls, peakMebibytes } of sizes) {
    const times = COMMANDS.map((command) => (command in seconds ? `${seconds[command]} s` : ""));
    const peak = peakMebibytes === undefined ? "not known" : `${peakMebibytes} MiB`;
    table.push([SPLITS[split], workspaces, stacks, ...times, calls, peak]);
  }
  return table.toString();
}

/** One of the two pictures beside each other. */
const PANEL = { left: 80, top: 60, width: 340, height: 260, distance: 444 };

/** Apart also for people who do not distinguish red from green, and on paper: each line has its own dashes and points. */
const STYLES: Record<Split, { color: string; dash: string; point: string; legendAt: number }> = {
  oneStack: { color: "#d55e00", dash: "", point: "M-4-4h8v8h-8z", legendAt: 80 },
  oneStackWithoutCheckpoints: { color: "#7a5195", dash: "6 4", point: "M0-5l5 9h-10z", legendAt: 310 },
  fleet: { color: "#0072b2", dash: "", point: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", legendAt: 630 },
};

/** Time and memory by the number of workspaces, both axes logarithmic, as an SVG on a background of its own: it is read on light and dark pages. */
export function drawFleetPlot({ sizes }: FleetFigures): string {
  const panels = [
    drawPanel("time of pulumi up (seconds)", sizes, ({ seconds }) => seconds.up),
    drawPanel("peak memory of all processes (MiB)", sizes, ({ peakMebibytes }) => peakMebibytes),
  ].filter((panel) => panel !== undefined);
  const width = PANEL.distance * panels.length + 24;
  const size = `width="${width}" height="390"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} 390" ${size} font-family="sans-serif" font-size="12" fill="#24292f">`,
    `<title>Time of pulumi up and peak memory by the number of workspaces: one stack and a fleet</title>`,
    `<rect ${size} fill="white"/>`,
    ...eachSplit(sizes, (split) => {
      const x = STYLES[split].legendAt;
      return `${drawLine(split, [
        [x, 24],
        [x + 28, 24],
      ])}${drawText(x + 40, 28, SPLITS[split], "start")}`;
    }),
    ...panels.map((panel, index) => `<g transform="translate(${index * PANEL.distance})">\n${panel}\n</g>`),
    "</svg>\n",
  ].join("\n");
}

/** Undefined if the figures have none of these values. */
function drawPanel(
  title: string,
  sizes: readonly SizeFigures[],
  valueOf: (size: SizeFigures) => number | undefined,
): string | undefined {
  const points = sizes.flatMap((size) => {
    const value = valueOf(size);
    return value === undefined ? [] : [{ split: size.split, workspaces: size.workspaces, value }];
  });
  if (points.length === 0) return undefined;
  const { left, top, width, height } = PANEL;
  const bottom = top + height;
  const [xTicks, yTicks] = [
    ticksOf(points.map(({ workspaces }) => workspaces)),
    ticksOf(points.map(({ value }) => value)),
  ];
  const xOf = (workspaces: number): number => Math.round(left + width * shareOf(workspaces, xTicks));
  const yOf = (value: number): number => Math.round(bottom - height * shareOf(value, yTicks));
  const middle = top + height / 2;
  return [
    ...xTicks.map((tick) => {
      const grid = `<path d="M${xOf(tick)} ${top}V${bottom}" stroke="#d8dee4"/>`;
      return grid + drawText(xOf(tick), bottom + 18, tick.toLocaleString("en-US"), "middle");
    }),
    ...yTicks.map((tick) => {
      const grid = `<path d="M${left} ${yOf(tick)}H${left + width}" stroke="#d8dee4"/>`;
      return grid + drawText(left - 8, yOf(tick) + 4, tick.toLocaleString("en-US"), "end");
    }),
    drawText(left + width / 2, bottom + 44, "workspaces", "middle"),
    `<g transform="rotate(-90 ${left - 56} ${middle})">${drawText(left - 56, middle, title, "middle")}</g>`,
    ...eachSplit(sizes, (split) => {
      const own = points.filter((point) => point.split === split);
      return drawLine(
        split,
        own.map(({ workspaces, value }) => [xOf(workspaces), yOf(value)]),
      );
    }),
  ].join("\n");
}

/** In the order of people's table; what was not measured is in no legend. */
const eachSplit = (sizes: readonly SizeFigures[], draw: (split: Split) => string): string[] =>
  (Object.keys(SPLITS) as Split[]).filter((split) => sizes.some((size) => size.split === split)).map(draw);

const drawText = (x: number, y: number, text: string, anchor: string): string =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}">${text}</text>`;

/** A line through these points, with the marks of its split. */
function drawLine(split: Split, points: readonly (readonly [number, number])[]): string {
  const { color, dash, point } = STYLES[split];
  const marks = points.map(
    ([x, y]) => `<path d="${point}" transform="translate(${x} ${y})" fill="${color}"/>`,
  );
  return `<polyline points="${points.join(" ")}" stroke="${color}" stroke-width="2.5" stroke-dasharray="${dash}" fill="none"/>${marks.join("")}`;
}

/** 1, 2, 5, 10 and so on: all that lie between these values, and one more at each end. */
function ticksOf(values: readonly number[]): number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const all = [0, 1, 2, 3, 4, 5].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
  const from = all.findLastIndex((tick) => tick <= least);
  const to = all.findIndex((tick) => tick >= most);
  return all.slice(Math.max(0, from), to + 1);
}

/** Where a value lies between the first tick and the last, from 0 to 1. */
function shareOf(value: number, ticks: readonly number[]): number {
  const [first = 1, last = 1] = [ticks[0], ticks.at(-1)];
  return first === last ? 0 : Math.log(value / first) / Math.log(last / first);
}

/** The numbers that docs/figures.md shows, and their plot. */
export const resultFiles = {
  figures: new URL("results/fleet.json", import.meta.url),
  plot: new URL("../../docs/images/fleet.svg", import.meta.url),
};

/** Keeps the numbers and draws them. */
export async function writeFigures(figures: FleetFigures): Promise<void> {
  await writeFile(resultFiles.figures, `${JSON.stringify(figures, undefined, 2)}\n`);
  await writeFile(resultFiles.plot, drawFleetPlot(figures));
}

export async function readFigures(): Promise<FleetFigures> {
  return JSON.parse(await readFile(resultFiles.figures, "utf8")) as FleetFigures;
}
