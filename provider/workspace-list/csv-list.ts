import { CsvError, parse } from "csv-parse/sync";
import { invalidConfig } from "../lib/files.js";
import { isPlainName, parse as parseShape } from "../lib/validate.js";
import {
  ENTRY_FIELDS,
  type EntryField,
  type ListedWorkspace,
  listShape,
  type ListReader,
  workspacesOf,
} from "./list-shape.js";

const COLUMNS = ENTRY_FIELDS.join(", ");

/**
 * Reads a list of workspaces from a text of CSV, whose first row names the columns; an empty cell gives nothing. Throws
 * `invalid_config` with the line and the column of everything that is wrong, and none of the values.
 */
export function parseCsvList(text: string, reader: ListReader, fileName: string): ListedWorkspace[] {
  const [header, ...entries] = readRows(text, fileName);
  if (!header?.cells.some(isField)) throw invalid(fileName, [{ line: header?.line ?? 1, text: NO_HEADER }]);
  const checked = checkEntries(entries, header.cells, reader);
  const problems = [...problemsOfHeader(header, reader), ...checked.problems];
  if (problems.length > 0) throw invalid(fileName, problems);
  if (entries.length > 0) return checked.workspaces;
  throw invalid(fileName, [{ line: header.line, text: "must have at least one row below it" }]);
}

const NO_HEADER = `the first row must name the columns: ${COLUMNS}`;

const isField = (name: string | undefined): name is EntryField =>
  (ENTRY_FIELDS as readonly (string | undefined)[]).includes(name);

function problemsOfHeader({ line, cells }: CsvRow, reader: ListReader): CsvProblem[] {
  const needed: EntryField[] = ["name", "baseUrl", ...(reader === "plan" ? ["webhookUrl" as const] : [])];
  const missing = needed.filter((field) => !cells.includes(field));
  return [
    ...cells.flatMap((name, index) => problemOfColumn(name, index, cells) ?? []),
    ...missing.map((field) => ({ field, text: "the column is missing; add it to the first row" })),
  ].map((problem) => ({ line, ...problem }));
}

function problemOfColumn(
  name: string,
  index: number,
  cells: readonly string[],
): Omit<CsvProblem, "line"> | undefined {
  if (isField(name)) {
    const isFirst = cells.indexOf(name) === index;
    return isFirst ? undefined : { field: name, text: "the column appears twice; remove one" };
  }
  // A value in its place is not shown: it may be a key.
  const text = `is not one of the columns ${COLUMNS}; check the spelling, or remove it`;
  return isPlainName(name) ? { field: name, text } : { text: `the name of column ${index + 1} ${text}` };
}

/** The workspaces of the rows below the header, and what is wrong with them. */
function checkEntries(
  rows: readonly CsvRow[],
  header: readonly string[],
  reader: ListReader,
): { workspaces: ListedWorkspace[]; problems: CsvProblem[] } {
  // In a row of another length a value may be in the wrong column.
  const isWhole = ({ cells }: CsvRow): boolean => cells.length === header.length;
  const whole = rows.filter(isWhole);
  const lengths = rows
    .filter((row) => !isWhole(row))
    .map(({ line, cells: { length } }) => {
      const has = `has ${length} ${length === 1 ? "cell" : "cells"}, and the first row has ${header.length}`;
      return { line, text: `${has}; look for a missing or surplus comma or quote` };
    });
  if (whole.length === 0) return { workspaces: [], problems: lengths };
  const workspaces = whole.map(({ cells }) => toEntry(cells, header));
  const { data, problems = [] } = parseShape(listShape(reader), { workspaces });
  const wrong = problems.flatMap(({ path: [, index, field], text }) => {
    const column = String(field);
    // A missing column is reported once, with the header.
    if (isField(column) && !header.includes(column)) return [];
    return [{ line: whole[Number(index)]?.line ?? 1, field: column, text }];
  });
  return { workspaces: data ? workspacesOf(data) : [], problems: [...lengths, ...wrong] };
}

/** The values of a row by column; of a column that appears twice, the first. */
function toEntry(cells: readonly string[], header: readonly string[]): Partial<Record<EntryField, string>> {
  const given = ENTRY_FIELDS.map((field) => [field, cells[header.indexOf(field)] ?? ""] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}

const invalid = (fileName: string, problems: readonly CsvProblem[]) =>
  invalidConfig(
    problems
      .toSorted((a, b) => a.line - b.line)
      .map(({ line, field, text }) =>
        [`${fileName}:${line}`, ...(field === undefined ? [] : [field]), text].join(": "),
      ),
  );

/** A row of a CSV file, and the line on which it begins. */
interface CsvRow {
  line: number;
  cells: string[];
}

/** One thing that is wrong with a CSV file. Contains no values. */
interface CsvProblem {
  line: number;
  /** The column, if it is one. */
  field?: string;
  text: string;
}

const QUOTES =
  'a quote is not closed, or is inside a cell; close it, or write "" for a quote in a cell in quotes';

const LINE_BREAK = /\r\n|\n|\r/;

/**
 * Cuts a text of CSV into rows, without empty ones. Cells are separated by commas, or by semicolons, as
 * spreadsheets of many countries write them. Whitespace around a cell that is not in quotes is ignored. Only
 * the first broken row is reported: behind it, quotes open where others close.
 */
function readRows(text: string, fileName: string): CsvRow[] {
  const rows: CsvRow[] = [];
  let end = 0;
  try {
    parse(text, {
      trim: true,
      // The names of the columns, which come first, contain neither.
      delimiter: /[,;]/.exec(text)?.[0] ?? ",",
      record_delimiter: ["\r\n", "\n", "\r"],
      relax_column_count: true,
      skip_empty_lines: true,
      on_record: (cells: string[], { lines }) => {
        rows.push({ line: lines - breaksIn(cells), cells });
        end = lines;
      },
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // The parser reports the line where the row ends; report the line where it begins.
    const isInRow = (line: string, index: number): boolean => index >= end && line.trim() !== "";
    throw invalid(fileName, [{ line: text.split(LINE_BREAK).findIndex(isInRow) + 1, text: QUOTES }]);
  }
  return rows.filter(({ cells }) => cells.some((cell) => cell !== ""));
}

const breaksIn = (cells: readonly string[]): number =>
  cells.reduce((count, cell) => count + cell.split(LINE_BREAK).length - 1, 0);
