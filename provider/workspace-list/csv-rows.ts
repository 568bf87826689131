import { parse, type CsvError } from "csv-parse/sync";

/** A row of a CSV file, and the line on which it begins. */
export interface CsvRow {
  line: number;
  cells: string[];
}

/** One thing that is wrong with a CSV file. No value is in it. */
export interface CsvProblem {
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
export function readRows(text: string): { rows: CsvRow[]; problems: CsvProblem[] } {
  const { records, errors } = parseRecords(text);
  // After a quote that is not closed nothing is where it seems to be, so that one is the last that is told.
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
    // Else a quote that is not closed is told as a row that is too long.
    max_record_size: 0,
    skip_records_with_error: true,
    on_skip: (error) => {
      if (error !== undefined) errors.push(error);
      return undefined;
    },
  });
  return { records: records as CsvRecord[], errors };
}

/** The parser tells where a broken row ends. People look where it begins: there the quote was forgotten. */
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
