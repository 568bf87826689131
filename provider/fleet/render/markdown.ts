import { toPlainText } from "../../cli/plain-text.js";
import type { Block, Piece, Table } from "./document.js";
import { MOST_ROWS } from "./wording.js";

/** For a page such as the summary of a job. Foreign texts stand in it as they are: no markup of theirs, link or mention works. */
export const toMarkdown = (blocks: readonly Block[]): string => blocks.map(showBlock).join("\n");

function showBlock(block: Block): string {
  if (block.type === "heading") return `## ${escapeText(block.text)}\n`;
  if (block.type === "line") return `${block.pieces.map(showPiece).join("")}\n`;
  return showTable(block);
}

function showTable({ head, rows, totals, of }: Table): string {
  const shown = [...rows.slice(0, MOST_ROWS), ...(totals === undefined ? [] : [totals])];
  const lines = [head.map(capitalize), head.map(() => "---"), ...shown.map((row) => row.map(showPiece))];
  const more = rows.length - MOST_ROWS;
  const table = lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
  return more > 0 ? `${table}\nand ${more} more ${of}\n` : table;
}

const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

const showPiece = (piece: Piece): string =>
  typeof piece === "string" ? escapeText(piece) : showCode(toPlainText(piece.code));

const escapeText = (text: string): string => toPlainText(text).replace(/[\\`*_[\]<>&|~!#$@]/g, "\\$&");

/** A bar ends the cell of a table even within code, and a backtick ends the code: text with either is written as HTML. */
function showCode(text: string): string {
  if (text.trim() === "") return "";
  return /[`|]/.test(text) ? `<code>${toEntities(text)}</code>` : `\`${text}\``;
}

const toEntities = (text: string): string =>
  text.replace(/[!-/:-@[-`{-~]/g, (char) => `&#${char.charCodeAt(0)};`);
