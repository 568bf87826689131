import type * as z from "zod";
import { type CsvError, parse } from "csv-parse/sync";
import { invalidConfig } from "../lib/files.js";
import { inOurWords, isPlainName, problemsOfIssues } from "../lib/validate.js";
import { ENTRY_FIELDS, type EntryField, type ListedWorkspace, type ListReader } from "./entry-shape.js";
import { entriesShape, toWorkspace } from "./list-shape.js";

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
      : [{ field: name, text: "the column appears twice; remove one" }];
  }
  // A value in its place is not shown: it may be a key.
  const text = `is not one of the columns ${COLUMNS}; check the spelling, or remove it`;
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
    // A column that is not there is reported once, with the header.
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

/** A row of a CSV file, and the line on which it begins. */
interface CsvRow {
  line: number;
  cells: string[];
}

/** One thing that is wrong with a CSV file. No value is in it. */
interface CsvProblem {
  line: number;
  /** The column, if it is one. */
  field?: string;
  text: string;
}

const QUOTES =
  'a quote is not closed, or stands inside a cell; close it, or write "" for a quote in a cell in quotes';

/**
 * Cuts a text of CSV into rows; those without any value are left out. Cells stand between commas, or between semicolons, as
 * spreadsheets of many countries write them. White space around a cell that is not in quotes is no part of it.
 */
function readRows(text: string): { rows: CsvRow[]; problems: CsvProblem[] } {
  const { records, errors } = parseRecords(text);
  // After an unclosed quote, positions cannot be trusted, so it is the last problem reported.
  const end = endOf(errors.find(({ code }) => code !== "INVALID_OPENING_QUOTE"));
  const sound = records.filter(({ info }) => info.lines < end);
  const rows = sound.map(({ record, info }) => ({ line: info.lines - breaksIn(record), cells: record }));
  const broken = errors.filter((error) => endOf(error) <= end);
  return {
    rows: rows.filter(({ cells }) => cells.some((cell) => cell !== "")),
    problems: findStarts(text, sound, broken).map((line) => ({ line, text: QUOTES })),
  };
}

interface CsvRecord {
  record: string[];
  /** `lines`: the line on which the record ends. */
  info: { lines: number };
}

function parseRecords(text: string): { records: CsvRecord[]; errors: CsvError[] } {
  const errors: CsvError[] = [];
  const records: unknown = parse(text, {
    info: true,
    trim: true,
    // The names of the columns, which come first, have neither in them.
    delimiter: /[,;]/.exec(text)?.[0] ?? ",",
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    skip_empty_lines: true,
    // Else a quote that is not closed is reported as a row that is too long.
    max_record_size: 0,
    skip_records_with_error: true,
    on_skip: (error) => {
      if (error !== undefined) errors.push(error);
      return undefined;
    },
  });
  return { records: records as CsvRecord[], errors };
}

/** The parser reports where a broken row ends. People look where it begins: there the quote was forgotten. */
function findStarts(text: string, records: readonly CsvRecord[], errors: readonly CsvError[]): number[] {
  const lines = text.split(LINE_BREAK);
  const ends = [...new Set([...records.map(({ info }) => info.lines), ...errors.map(endOf)])];
  const inOrder = ends.toSorted((a, b) => a - b);
  const endBefore = new Map(inOrder.map((end, index) => [end, inOrder[index - 1] ?? 0]));
  return errors.map((error) => {
    let line = endBefore.get(endOf(error)) ?? 0;
    while (lines[line]?.trim() === "") line += 1;
    return line + 1;
  });
}

const LINE_BREAK = /\r\n|\n|\r/;

const endOf = (error: CsvError | undefined): number =>
  error === undefined ? Number.POSITIVE_INFINITY : Number(error["lines"]);

const breaksIn = (cells: readonly string[]): number =>
  cells.reduce((count, cell) => count + cell.split(LINE_BREAK).length - 1, 0);
