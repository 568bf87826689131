import { createRequire } from "node:module";
import { styleText } from "node:util";
import type Table from "cli-table3";
import { toPlainText } from "./plain-text.js";

/** A column is not made narrower than this, in characters. */
const LEAST_WIDTH = 12;
const GAP = "  ";

export interface TableOptions {
  /** Width of the terminal in characters; undefined: nothing is wrapped, for a file or a program. */
  width: number | undefined;
  isColoured: boolean;
}

/** What the output can show. */
export const tableOptionsOf = ({ isTTY, columns }: NodeJS.WriteStream): TableOptions => ({
  width: isTTY && columns > 0 ? columns : undefined,
  isColoured: isTTY && !process.env["NO_COLOR"],
});

/**
 * A table for people: a head and rows without borders. On a terminal cells that are too long wrap. Foreign texts cannot
 * drive the terminal.
 */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { width, isColoured }: TableOptions = tableOptionsOf(process.stdout),
): string {
  const cells = [[...head], ...rows.map((row) => row.map(toPlainText))];
  const table = createTable();
  table.push(...(width === undefined ? cells : wrapCells(cells, fitWidths(widthsOf(cells), width))));
  const [first = "", ...others] = table
    .toString()
    .split("\n")
    .map((line) => line.trimEnd());
  const heading = isColoured ? styleText("bold", first, { validateStream: false }) : first;
  return `${[heading, ...others].join("\n")}\n`;
}

/** Loaded on use: most runs print no table. */
function createTable(): Table.Table {
  const CliTable = createRequire(import.meta.url)("cli-table3") as typeof Table;
  return new CliTable({
    chars: NO_BORDERS,
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [], compact: true },
  });
}

const NO_BORDERS = {
  ...Object.fromEntries(
    ["top", "bottom", "mid"].flatMap((edge) =>
      ["", "-mid", "-left", "-right"].map((part) => [edge + part, ""]),
    ),
  ),
  left: "",
  "left-mid": "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: GAP,
};

const widthsOf = (cells: readonly (readonly string[])[]): number[] =>
  (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0), 1));

/** At blanks where there are any: the library itself cuts what is longer than a column, such as a URL. */
const wrapCells = (cells: readonly (readonly string[])[], widths: readonly number[]): string[][] =>
  cells.map((row) => row.map((text, column) => wrap(text, widths[column] ?? LEAST_WIDTH)));

const wrap = (text: string, width: number): string =>
  text.replace(new RegExp(`(.{1,${width}})(?:\\s|$)|(.{1,${width}})`, "gu"), "$1$2\n").trimEnd();

/** Takes the width that is missing from the widest columns. */
export function fitWidths(widths: readonly number[], width: number): number[] {
  const fitted = [...widths];
  let excess = widths.reduce((sum, one) => sum + one, GAP.length * (widths.length - 1)) - width;
  while (excess > 0) {
    const widest = fitted.indexOf(Math.max(...fitted));
    const now = fitted[widest] ?? 0;
    if (now <= LEAST_WIDTH) break;
    fitted[widest] = now - 1;
    excess -= 1;
  }
  return fitted;
}
