import { styleText } from "node:util";
import { toPlainText } from "../lib/plain-text.js";

/** The minimum width of a shrunk column, in characters. */
const MIN_WIDTH = 12;
const GAP = "  ";

type Colour = "green" | "yellow" | "red" | "gray";

/** The colours of words that are a whole cell, such as the name of a result. */
type CellColours = Readonly<Record<string, Colour>>;

export interface TableOptions {
  /** Width of the terminal in characters. Undefined for a file or a program: then nothing is wrapped. */
  width: number | undefined;
  isColoured: boolean;
  colours?: CellColours;
}

/** The capabilities of a stream. */
export const tableOptionsOf = ({ isTTY, columns }: NodeJS.WriteStream): TableOptions => ({
  width: isTTY && columns > 0 ? columns : undefined,
  isColoured: isTTY && !process.env["NO_COLOR"],
});

/** Formats a table for people, without borders. On a terminal long cells wrap. Untrusted text cannot drive the terminal. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  options: Partial<TableOptions> = {},
): string {
  const { width, isColoured, colours = {} } = { ...tableOptionsOf(process.stdout), ...options };
  const cells = [[...head], ...rows.map((row) => row.map(toPlainText))];
  const natural = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0), 1),
  );
  const widths = width === undefined ? natural : fitWidths(natural, width);
  const paint = (text: string, cell: string): string => {
    const colour = isColoured && Object.hasOwn(colours, cell) ? colours[cell] : undefined;
    return colour === undefined ? text : styleText(colour, text, { validateStream: false });
  };
  const [first = "", ...others] = cells.flatMap((row) => formatRow(row, widths, paint));
  const heading = isColoured ? styleText("bold", first, { validateStream: false }) : first;
  return `${[heading, ...others].join("\n")}\n`;
}

/** The lines of one row, whose longest cell decides how many. */
function formatRow(
  row: readonly string[],
  widths: readonly number[],
  paint: (text: string, cell: string) => string,
): string[] {
  const cells = row.map((text, column) => wrap(text, widths[column] ?? MIN_WIDTH));
  return Array.from({ length: Math.max(...cells.map((lines) => lines.length)) }, (_, line) =>
    cells
      .map((lines, column) => paint((lines[line] ?? "").padEnd(widths[column] ?? 0), row[column] ?? ""))
      .join(GAP)
      .trimEnd(),
  );
}

/** Wraps at blanks if there are any. */
const wrap = (text: string, width: number): string[] =>
  text
    .replace(new RegExp(`(.{1,${width}})(?:\\s|$)|(.{1,${width}})`, "gu"), "$1$2\n")
    .trimEnd()
    .split("\n");

/** Shrinks the widest columns until the table fits. */
function fitWidths(widths: readonly number[], width: number): number[] {
  const fitted = [...widths];
  let excess = widths.reduce((sum, one) => sum + one, GAP.length * (widths.length - 1)) - width;
  while (excess > 0) {
    const widest = fitted.indexOf(Math.max(...fitted));
    const now = fitted[widest] ?? 0;
    if (now <= MIN_WIDTH) break;
    fitted[widest] = now - 1;
    excess -= 1;
  }
  return fitted;
}
