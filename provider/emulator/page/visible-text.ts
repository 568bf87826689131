/**
 * Control characters but tab and line feed, and what embeds, overrides or isolates the direction of writing: they make a
 * text look like another one. Marks such as U+200E and the joiners stay: scripts and emojis need them.
 */
const DECEIVING = /(?![\t\n])[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069\uFEFF]/gu;

/** The text with characters that cannot be seen written out, such as `⟨U+202E⟩`. */
export function visibleText(text: string): string {
  return text.replaceAll(DECEIVING, (char) => `⟨U+${hexOf(char)}⟩`);
}

function hexOf(char: string): string {
  return char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
}
