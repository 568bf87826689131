/** What could drive a terminal, end a line or turn the direction of writing. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

const escape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Shows a foreign text on one line of a terminal: whatever could drive it is written as `\u001b`. */
export const toPlainText = (text: string): string => text.replace(UNPRINTABLE, escape);

/** As {@link toPlainText}, of which only the start is shown. */
export function toShortText(text: string, characters: number): string {
  const start = Array.from(text.slice(0, characters * 2)).slice(0, characters);
  const shown = toPlainText(start.join(""));
  return start.join("").length < text.length ? `${shown}…` : shown;
}

/** One line of NDJSON that is fit for a terminal too: JSON itself leaves C1 controls as they are. */
export const toJsonLine = (value: unknown): string => `${toPlainText(JSON.stringify(value))}\n`;
