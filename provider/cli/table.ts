import { toPlainText } from "../lib/plain-text.js";
import { paint, type Paint } from "./output.js";

interface TableOptions {
  /** Maps the exact text of a cell, such as the name of a result, to its colour. */
  colours?: Readonly<Record<string, "green" | "yellow" | "red" | "gray">>;
  /** Adds colours if the output supports them. Default: for stdout. */
  paint?: Paint;
}

/** Formats a table for people, without borders. Control characters in untrusted text have no effect. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { colours = {}, paint: paintText = paint }: TableOptions = {},
): string {
  const cells = rows.map((row) => row.map(toPlainText));
  const widths = head.map((name, column) =>
    Math.max(name.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const formatRow = (row: readonly string[]): string =>
    row
      .map((cell, column) => {
        const text = cell.padEnd(widths[column] ?? 0);
        const colour = Object.hasOwn(colours, cell) ? colours[cell] : undefined;
        return colour === undefined ? text : paintText(colour, text);
      })
      .join("  ")
      .trimEnd();
  return `${[paintText("bold", formatRow(head)), ...cells.map(formatRow)].join("\n")}\n`;
}
