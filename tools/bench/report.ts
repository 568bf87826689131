import Table from "cli-table3";
import { availableParallelism, cpus, loadavg } from "node:os";
import process from "node:process";
import { styleText } from "node:util";
import { resolveEngine } from "../engine/resolve.ts";
import { isReached, type Measurement } from "./measure.ts";

/** What the results depend on. */
export interface Machine {
  cores: number;
  processor: string;
  node: string;
  /** The engine's version. */
  engine: string;
  /** The load average of the last minute, before the first row: what else the machine was busy with. */
  loadBefore: number;
}

export async function describeMachine(signal: AbortSignal): Promise<Machine> {
  const [loadBefore = Number.NaN] = loadavg();
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? "unknown",
    node: process.version,
    engine: (await resolveEngine({ signal })).version,
    loadBefore,
  };
}

export const formatMachine = ({ cores, processor, node, engine, loadBefore }: Machine): string =>
  `${cores} cores (${processor}), Node ${node}, Pulumi engine ${engine}, load before ${loadBefore.toFixed(1)}`;

export const TABLE_STYLE = {
  chars: { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" },
  style: { head: [], border: [] },
};

/** The results as a table for a reader. Colours only on a terminal, and not under NO_COLOR. */
export function formatTable(measurements: readonly Measurement[]): string {
  const table = new Table({
    head: ["what", "against", "measured", "middle half", "to reach", "reached"],
    ...TABLE_STYLE,
  });
  for (const measurement of measurements) {
    const { what, against, value, unit, target, rounds } = measurement;
    const format = (number: number): string =>
      unit === "ratio" ? number.toFixed(2) : `${number.toFixed(unit === "ms" ? 1 : 0)} ${unit}`;
    const [low, high] = middleHalf(rounds);
    const spread = rounds.length > 1 ? `${format(low)} to ${format(high)} of ${rounds.length} rounds` : "";
    const goal = "atMost" in target ? `<= ${format(target.atMost)}` : `>= ${format(target.atLeast)}`;
    const [color, word] = isReached(measurement) ? (["green", "yes"] as const) : (["red", "NO"] as const);
    const reached = styleText(color, word, { stream: process.stdout });
    table.push([what, against, format(value), spread, goal, reached]);
  }
  return table.toString();
}

/** Between which two values the middle half lies: how noisy the rounds were, without the few that were disturbed by chance. */
function middleHalf(values: readonly number[]): [low: number, high: number] {
  const sorted = values.toSorted((a, b) => a - b);
  const last = sorted.length - 1;
  const low = sorted[Math.floor(last / 4)] ?? Number.NaN;
  return [low, sorted[Math.ceil((last * 3) / 4)] ?? low];
}
