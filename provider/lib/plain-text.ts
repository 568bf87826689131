import { toPlainText } from "../errors/index.js";

export { toPlainText };

export const toPlainLines = (text: string): string => text.split("\n").map(toPlainText).join("\n");

export function toShortText(text: string, characters: number): string {
  const start = Array.from(text.slice(0, characters * 2)).slice(0, characters);
  const shown = toPlainText(start.join(""));
  return start.join("").length < text.length ? `${shown}…` : shown;
}

/** Formats one line of NDJSON that is safe for a terminal: JSON itself does not escape C1 controls. */
export const toJsonLine = (value: unknown): string => `${toPlainText(JSON.stringify(value))}\n`;

/** Quotes resource names, sorted, because the order in which the engine processes resources varies. */
export const joinQuotedNames = (names: readonly string[]): string =>
  names
    .toSorted()
    .map((name) => `"${name}"`)
    .join(" and ");

/** Lists the first names, and says how many more there are. */
export const listNames = (names: readonly string[], most = 5): string =>
  names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");
