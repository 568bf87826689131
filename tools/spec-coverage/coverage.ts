import { deliveryRows } from "./delivery-rows.ts";
import { emulatorRows } from "./emulator-rows.ts";
import { messageRows } from "./message-rows.ts";
import { registrationRows } from "./registration-rows.ts";
import type { CoverageRow } from "./row.ts";

/** Every operation, field and state of the specification, then what the emulator has beside it. */
export const coverage: readonly CoverageRow[] = [
  ...[...registrationRows, ...messageRows, ...deliveryRows].toSorted((a, b) =>
    a.section.localeCompare(b.section, "en"),
  ),
  ...emulatorRows,
];

const BEGIN = "<!-- coverage -->";
const END = "<!-- /coverage -->";

/** The table as Markdown, as prettier leaves it between its markers. */
export function formatCoverage(rows: readonly CoverageRow[] = coverage): string {
  const cells = [["section", "what", "in", "switch", "shown by"], ...rows.map(cellsOf)];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const rule = widths.map((width) => "-".repeat(width));
  const [header = [], ...body] = cells.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)),
  );
  return [header, rule, ...body].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

const code = (text: string): string => `\`${text}\``;

function cellsOf({ section, what, where, switches = [], shownBy: [file, name] }: CoverageRow): string[] {
  const shortFile = file.replace("test/unit/", "");
  return [
    section,
    what,
    where.map(code).join(", "),
    switches.map(code).join(", "),
    `${code(shortFile)}: ${name}`,
  ].map((cell) => cell.replaceAll("|", String.raw`\|`));
}

/** A text with the table between its markers; undefined if it has no markers. */
export function putCoverage(text: string): string | undefined {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) return undefined;
  return `${text.slice(0, begin + BEGIN.length)}\n\n${formatCoverage()}\n\n${text.slice(end)}`;
}
