import process from "node:process";
import { styleText } from "node:util";
import { isReached, type Measurement } from "./measurement.ts";
import { middleHalf } from "./statistics.ts";

const HEADER = ["what", "against", "measured", "middle half", "to reach", "reached"];

/** The results for a reader. Colours only on a terminal, and not under NO_COLOR. */
export function formatTable(measurements: readonly Measurement[]): string {
  const lines = measurements.map(describe);
  const widths = HEADER.map((title, column) =>
    Math.max(title.length, ...lines.map((cells) => cells[column]?.length ?? 0)),
  );
  const pad = (cells: readonly string[]): string[] =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  const body = lines.map((cells, index) => {
    const padded = pad(cells);
    const measurement = measurements[index];
    const colour = measurement && isReached(measurement) ? "green" : "red";
    return [...padded.slice(0, -1), styleText(colour, padded.at(-1) ?? "", { stream: process.stdout })];
  });
  const rule = widths.map((width) => "-".repeat(width));
  return [pad(HEADER), rule, ...body].map((cells) => cells.join("  ").trimEnd()).join("\n");
}

function describe(measurement: Measurement): string[] {
  const { what, against, value, unit, target, rounds } = measurement;
  const format = (number: number): string => formatValue(number, unit);
  const [low, high] = middleHalf(rounds);
  const spread = rounds.length > 1 ? `${format(low)} to ${format(high)} of ${rounds.length} rounds` : "";
  const goal = "atMost" in target ? `<= ${format(target.atMost)}` : `>= ${format(target.atLeast)}`;
  return [what, against, format(value), spread, goal, isReached(measurement) ? "yes" : "NO"];
}

function formatValue(value: number, unit: Measurement["unit"]): string {
  if (unit === "ratio") return value.toFixed(2);
  return `${value.toFixed(unit === "ms" ? 1 : 0)} ${unit}`;
}
