import { styleText } from "node:util";
import { toPlainText } from "../../cli/plain-text.js";
import { formatTable, type TableOptions } from "../../cli/table.js";
import { textOf, type Block, type Table } from "./document.js";
import { MOST_ROWS } from "./wording.js";

/** For a terminal. Foreign texts cannot drive it. */
export const toText = (blocks: readonly Block[], options: TableOptions): string =>
  blocks.map((block, index) => gapBefore(block, blocks[index - 1]) + showBlock(block, options)).join("");

/** Lines stand together, everything else apart. */
const gapBefore = (block: Block, before: Block | undefined): string =>
  before === undefined || (block.type === "line" && before.type === "line") ? "" : "\n";

function showBlock(block: Block, options: TableOptions): string {
  if (block.type === "table") return showTable(block, options);
  if (block.type === "line") return `${toPlainText(block.pieces.map(textOf).join(""))}\n`;
  const text = toPlainText(block.text);
  return `${options.isColoured ? styleText("bold", text, { validateStream: false }) : text}\n`;
}

function showTable({ head, rows, totals, of }: Table, options: TableOptions): string {
  const shown = [...rows.slice(0, MOST_ROWS), ...(totals === undefined ? [] : [totals])];
  const table = formatTable(
    head.map((word) => word.toUpperCase()),
    shown.map((row) => row.map(textOf)),
    options,
  );
  const more = rows.length - MOST_ROWS;
  return more > 0 ? `${table}and ${more} more ${of}\n` : table;
}
