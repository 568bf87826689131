import { deliveryRows } from "./delivery-rows.ts";
import { emulatorRows } from "./emulator-rows.ts";
import { messageRows } from "./message-rows.ts";
import { registrationRows } from "./registration-rows.ts";
import { PARTS, type CoverageRow, type TestReference } from "./row.ts";

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
  const cells = [["section", "what", "in", "switch", "emulator", ...PARTS], ...rows.map(cellsOf)];
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const rule = widths.map((width) => "-".repeat(width));
  const [header = [], ...body] = cells.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)),
  );
  return [header, rule, ...body].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

const code = (text: string): string => `\`${text}\``;

/** A test's file; its name is in the rows. */
const fileOf = (test: TestReference | undefined): string =>
  test === undefined ? "" : code(test[0].replace("test/unit/", "").replace(".test.ts", ""));

function cellsOf({ section, what, where, switches = [], shownBy, parts = {} }: CoverageRow): string[] {
  const cells = [section, what, where.map(code).join(", "), switches.map(code).join(", ")];
  return [...cells, ...[shownBy, ...PARTS.map((part) => parts[part])].map(fileOf)].map((cell) =>
    cell.replaceAll("|", String.raw`\|`),
  );
}

/** A text with the table between its markers; undefined if it has no markers. */
export function putCoverage(text: string): string | undefined {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) return undefined;
  return `${text.slice(0, begin + BEGIN.length)}\n\n${formatCoverage()}\n\n${text.slice(end)}`;
}
