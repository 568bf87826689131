import { styleText } from "node:util";
import { toPlainText } from "../../lib/plain-text.js";
import { formatTable, type TableOptions } from "../table.js";

/** A piece of a line or of a table. Untrusted text, and every command, is `code`: it is shown unchanged. */
export type Piece = string | { code: string };

export interface Table {
  type: "table";
  /** In small letters. */
  head: readonly string[];
  rows: readonly (readonly Piece[])[];
  /** The last row, which is never left out. */
  totals?: readonly Piece[];
  /** What the rows are, in the plural: "and 5 more failures". */
  of: string;
}

/** A part of a report, independent of the format. */
export type Block = { type: "heading"; text: string } | { type: "line"; pieces: readonly Piece[] } | Table;

export const heading = (text: string): Block => ({ type: "heading", text });

export const line = (...pieces: readonly Piece[]): Block => ({ type: "line", pieces });

/** A table, or nothing if it has no rows. */
export const tableOf = (table: Omit<Table, "type">): Block[] =>
  table.rows.length === 0 ? [] : [{ type: "table", ...table }];

export const code = (text: string): Piece => ({ code: text });

const textOf = (piece: Piece): string => (typeof piece === "string" ? piece : piece.code);

/** The most rows of a table in text and Markdown. */
export const MAX_ROWS = 100;

/** For a terminal. Untrusted text cannot drive it. */
export const toText = (blocks: readonly Block[], options: TableOptions): string =>
  blocks.map((block, index) => gapBefore(block, blocks[index - 1]) + toTextBlock(block, options)).join("");

/** Only consecutive lines have no gap between them. */
const gapBefore = (block: Block, before: Block | undefined): string =>
  before === undefined || (block.type === "line" && before.type === "line") ? "" : "\n";

function toTextBlock(block: Block, options: TableOptions): string {
  if (block.type === "table") return toTextTable(block, options);
  if (block.type === "line") return `${toPlainText(block.pieces.map(textOf).join(""))}\n`;
  const text = toPlainText(block.text);
  return `${options.isColoured ? styleText("bold", text, { validateStream: false }) : text}\n`;
}

/** The colours of outcomes. A workspace of such a name gets them too. */
const COLOURS = { done: "green", verified: "green", stopped: "yellow", failed: "red" } as const;

const toTextTable = (table: Table, options: TableOptions): string =>
  formatTable(
    table.head.map((word) => word.toUpperCase()),
    rowsOf(table).map((row) => row.map(textOf)),
    { ...options, colours: COLOURS },
  ) + moreOf(table);

const rowsOf = ({ rows, totals }: Table): (readonly Piece[])[] => [
  ...rows.slice(0, MAX_ROWS),
  ...(totals === undefined ? [] : [totals]),
];

const moreOf = ({ rows, of }: Table): string =>
  rows.length > MAX_ROWS ? `and ${rows.length - MAX_ROWS} more ${of}\n` : "";

/** For a page such as the summary of a job. Untrusted text is escaped, so its markup, links and mentions have no effect. */
export const toMarkdown = (blocks: readonly Block[]): string => blocks.map(toMarkdownBlock).join("\n");

function toMarkdownBlock(block: Block): string {
  if (block.type === "heading") return `## ${escapeText(block.text)}\n`;
  if (block.type === "line") return `${block.pieces.map(toMarkdownPiece).join("")}\n`;
  return toMarkdownTable(block);
}

function toMarkdownTable(table: Table): string {
  const lines = [
    table.head.map(capitalize),
    table.head.map(() => "---"),
    ...rowsOf(table).map((row) => row.map(toMarkdownPiece)),
  ];
  const more = moreOf(table);
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("") + (more === "" ? "" : `\n${more}`);
}

const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

const toMarkdownPiece = (piece: Piece): string =>
  typeof piece === "string" ? escapeText(piece) : showCode(toPlainText(piece.code));

const escapeText = (text: string): string => toPlainText(text).replace(/[\\`*_[\]<>&|~!#$@]/g, "\\$&");

/** A bar ends the cell of a table even within code, and a backtick ends the code: text with either is written as HTML. */
function showCode(text: string): string {
  if (text.trim() === "") return "";
  return /[`|]/.test(text) ? `<code>${toEntities(text)}</code>` : `\`${text}\``;
}

const toEntities = (text: string): string =>
  text.replace(/[!-/:-@[-`{-~]/g, (char) => `&#${char.charCodeAt(0)};`);

/** "1 stack", "4 stacks". */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** "0.4 s", "12.3 s", "125 min 5 s". */
export function duration(seconds: number): string {
  if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}
