import type * as z from "zod";
import { invalidConfig } from "../lib/files.js";
import { problemsOfIssues, inOurWords, isPlainName } from "../lib/validate.js";
import { readRows, type CsvProblem, type CsvRow } from "./csv-rows.js";
import { ENTRY_FIELDS, type EntryField, type ListReader } from "./entry-shape.js";
import { entriesShape, toWorkspace } from "./list-shape.js";
import type { ListedWorkspace } from "./list.js";

const COLUMNS = ENTRY_FIELDS.join(", ");

const NEEDED: Record<ListReader, readonly EntryField[]> = {
  fleet: ["name", "baseUrl"],
  plan: ["name", "baseUrl", "webhookUrl"],
};

/**
 * Reads a list of workspaces from a text of CSV, whose first row names the columns; an empty cell gives nothing. Throws
 * `invalid_config` with the line and the column of everything that is wrong, and none of the values.
 */
export function parseCsvList(text: string, reader: ListReader, fileName: string): ListedWorkspace[] {
  const { rows, problems } = readRows(text);
  const [header, ...entries] = rows;
  // Without the names nobody knows what a cell is.
  if (header === undefined || problems.some(({ line }) => line < header.line)) {
    throw invalid(fileName, problems.length > 0 ? problems : [{ line: 1, text: NO_HEADER }]);
  }
  const checked = checkEntries(entries, header, reader);
  const all = [...problems, ...problemsOfHeader(header, reader), ...checked.problems];
  if (all.length > 0) throw invalid(fileName, all);
  if (entries.length === 0) throw invalid(fileName, [{ line: header.line, text: NO_ROW }]);
  return checked.workspaces;
}

const NO_ROW = "must have at least one row below it";

const NO_HEADER = `the first row must name the columns: ${COLUMNS}`;

const isField = (name: string | undefined): name is EntryField =>
  (ENTRY_FIELDS as readonly (string | undefined)[]).includes(name);

function problemsOfHeader({ line, cells }: CsvRow, reader: ListReader): CsvProblem[] {
  if (!cells.some(isField)) return [{ line, text: NO_HEADER }];
  const missing = NEEDED[reader].filter((field) => !cells.includes(field));
  return [
    ...cells.flatMap((name, index) =>
      problemsOfColumn(name, index, cells).map((problem) => ({ line, ...problem })),
    ),
    ...missing.map((field) => ({ line, field, text: "the column is missing; add it to the first row" })),
  ];
}

function problemsOfColumn(name: string, index: number, cells: readonly string[]): Omit<CsvProblem, "line">[] {
  if (isField(name)) {
    return cells.indexOf(name) === index
      ? []
      : [{ field: name, text: "the column stands twice; remove one of the two" }];
  }
  // A value in its place is not shown: it may be a key.
  const text = `is none of the columns ${COLUMNS}; look for a slip of the pen, or leave it out`;
  return [isPlainName(name) ? { field: name, text } : { text: `the name of column ${index + 1} ${text}` }];
}

/** What the rows below the header give, and what is wrong with them. */
function checkEntries(
  rows: readonly CsvRow[],
  { cells: header }: CsvRow,
  reader: ListReader,
): { workspaces: ListedWorkspace[]; problems: CsvProblem[] } {
  if (!header.some(isField)) return { workspaces: [], problems: [] };
  // In a row of another length a value may stand in another's column.
  const whole = rows.filter(({ cells }) => cells.length === header.length);
  const lengths = rows
    .filter(({ cells }) => cells.length !== header.length)
    .map(({ line: at, cells }) => ({ line: at, text: describeLength(cells.length, header.length) }));
  const { data = [], error } = entriesShape(reader).safeParse(
    whole.map(({ cells }) => toEntry(cells, header)),
    { error: inOurWords },
  );
  const problems = whole.length === 0 ? [] : problemsOfRows(error?.issues ?? [], whole, header);
  return { workspaces: data.map((entry) => toWorkspace(entry)), problems: [...lengths, ...problems] };
}

const describeLength = (cells: number, columns: number): string =>
  `has ${cells} ${cells === 1 ? "cell" : "cells"}, and the first row has ${columns}; look for a missing or surplus comma or quote`;

/** The values of a row by column: of a column that stands twice the first. */
function toEntry(cells: readonly string[], header: readonly string[]): Partial<Record<EntryField, string>> {
  const given = ENTRY_FIELDS.map((field) => [field, cells[header.indexOf(field)] ?? ""] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}

function problemsOfRows(
  issues: readonly z.core.$ZodIssue[],
  rows: readonly CsvRow[],
  header: readonly string[],
): CsvProblem[] {
  return problemsOfIssues(issues).flatMap(({ path: [index, field], text }) => {
    const column = String(field);
    const line = rows[Number(index)]?.line ?? 1;
    // A column that is not there is told once, with the header.
    return isField(column) && !header.includes(column) ? [] : [{ line, field: column, text }];
  });
}

const invalid = (fileName: string, problems: readonly CsvProblem[]) =>
  invalidConfig(
    problems
      .toSorted((a, b) => a.line - b.line)
      .map(({ line, field, text }) =>
        [`${fileName}:${line}`, ...(field === undefined ? [] : [field]), text].join(": "),
      ),
  );
