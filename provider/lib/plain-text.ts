/** What could drive a terminal, end a line or turn the direction of writing. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

const escape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * Shows an untrusted text on one line of a terminal: writes whatever could drive it as `\u001b`. Every untrusted text goes
 * through this before it is printed, in a line, an error or a table.
 */
export const toPlainText = (text: string): string => text.replace(UNPRINTABLE, escape);

/** The same for a text of several lines, each of which is its own. */
export const toPlainLines = (text: string): string => text.split("\n").map(toPlainText).join("\n");

/** Like {@link toPlainText}, but returns only the start. */
export function toShortText(text: string, characters: number): string {
  const start = Array.from(text.slice(0, characters * 2)).slice(0, characters);
  const shown = toPlainText(start.join(""));
  return start.join("").length < text.length ? `${shown}…` : shown;
}

/** Formats one line of NDJSON that is safe for a terminal: JSON itself does not escape C1 controls. */
export const toJsonLine = (value: unknown): string => `${toPlainText(JSON.stringify(value))}\n`;
