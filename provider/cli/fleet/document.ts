import { styleText } from "node:util";
import { toPlainText } from "../../lib/plain-text.js";
import { formatTable, type TableOptions } from "../table.js";

export interface Table {
  type: "table";
  /** In small letters. */
  head: readonly string[];
  rows: readonly (readonly string[])[];
  /** The last row, which is never left out. */
  totals?: readonly string[];
  /** What the rows are, in the plural: "and 5 more failures". */
  of: string;
}

/** A part of a report. */
export type Block = { type: "heading" | "line"; text: string } | Table;

export const heading = (text: string): Block => ({ type: "heading", text });

export const line = (text: string): Block => ({ type: "line", text });

/** A table, or nothing if it has no rows. */
export const tableOf = (table: Omit<Table, "type">): Block[] =>
  table.rows.length === 0 ? [] : [{ type: "table", ...table }];

/** The most rows of a table. */
export const MAX_ROWS = 100;

/** For a terminal. Untrusted text cannot drive it. */
export const toText = (blocks: readonly Block[], options: TableOptions): string =>
  blocks.map((block, index) => gapBefore(block, blocks[index - 1]) + toTextBlock(block, options)).join("");

/** Only consecutive lines have no gap between them. */
const gapBefore = (block: Block, previous: Block | undefined): string =>
  previous === undefined || (block.type === "line" && previous.type === "line") ? "" : "\n";

function toTextBlock(block: Block, options: TableOptions): string {
  if (block.type === "table") return toTextTable(block, options);
  const text = toPlainText(block.text);
  return `${options.isColoured && block.type === "heading" ? styleText("bold", text, { validateStream: false }) : text}\n`;
}

/** The colours of outcomes. A workspace of such a name gets them too. */
const COLOURS = { done: "green", verified: "green", stopped: "yellow", failed: "red" } as const;

const toTextTable = (table: Table, options: TableOptions): string =>
  formatTable(
    table.head.map((word) => word.toUpperCase()),
    rowsOf(table),
    { ...options, colours: COLOURS },
  ) + moreOf(table);

const rowsOf = ({ rows, totals }: Table): (readonly string[])[] => [
  ...rows.slice(0, MAX_ROWS),
  ...(totals === undefined ? [] : [totals]),
];

const moreOf = ({ rows, of }: Table): string =>
  rows.length > MAX_ROWS ? `and ${rows.length - MAX_ROWS} more ${of}\n` : "";

/** For the summary of a CI job: a block of code, in which markup, links and mentions have no effect. */
export function toMarkdown(blocks: readonly Block[]): string {
  const text = toText(blocks, { width: undefined, isColoured: false });
  const longest = Math.max(...(text.match(/`+/g) ?? []).map((run) => run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text}${fence}\n`;
}

/** "1 stack", "4 stacks". */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** "0.4 s", "12.3 s", "125 min 5 s". */
export function duration(seconds: number): string {
  if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}
