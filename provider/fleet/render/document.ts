/** A piece of a line or of a table. Whatever others may have written, and every command, is `code`: it is shown as it stands. */
export type Piece = string | { code: string };

export interface Table {
  type: "table";
  /** In small letters. */
  head: readonly string[];
  rows: readonly (readonly Piece[])[];
  /** Stands below the rows, however many of those are left out. */
  totals?: readonly Piece[];
  /** What the rows are, in the plural: "and 5 more failures". */
  of: string;
}

/** What a report says, without saying how it looks. */
export type Block = { type: "heading"; text: string } | { type: "line"; pieces: readonly Piece[] } | Table;

export const heading = (text: string): Block => ({ type: "heading", text });

export const line = (...pieces: readonly Piece[]): Block => ({ type: "line", pieces });

/** A table, or nothing if it has no rows. */
export const tableOf = (table: Omit<Table, "type">): Block[] =>
  table.rows.length === 0 ? [] : [{ type: "table", ...table }];

export const code = (text: string): Piece => ({ code: text });

export const textOf = (piece: Piece): string => (typeof piece === "string" ? piece : piece.code);
