/** Absolute, as schema/ requires: `http:example`, `//example` and `/path` would be resolved against this page. */
const ABSOLUTE = /^https?:\/\/[^\s/?#]/i;

/** The URL parser drops tabs and line ends and trims control characters: the page would show another address than it opens. */
const CONTROL = /\p{Cc}/u;

/**
 * The address if it may become a link or a medium of this page: absolute, http or https, without control characters, in
 * the parser's spelling. Null for anything else, which stays text.
 */
export function safeUrl(text: unknown): string | null {
  if (typeof text !== "string" || CONTROL.test(text) || !ABSOLUTE.test(text)) return null;
  const url = URL.parse(text);
  return url?.protocol === "http:" || url?.protocol === "https:" ? url.href : null;
}

/** The last segment of the path, decoded if possible: the name of a file. The host if there is none. */
export function fileNameOf(url: string): string {
  const { pathname, host } = new URL(url);
  const segment = pathname.split("/").findLast((part) => part !== "") ?? host;
  try {
    return decodeURIComponent(segment);
  } catch (error) {
    if (error instanceof URIError) return segment;
    throw error;
  }
}

/**
 * Control characters except tab and line feed, and those that embed, override or isolate the direction of writing: they make a
 * text look like another one. Marks such as U+200E and the joiners stay: scripts and emojis need them.
 */
const DECEIVING = /(?![\t\n])[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069\uFEFF]/gu;

/** The text with invisible characters written out, such as `⟨U+202E⟩`. */
export function visibleText(text: string): string {
  return text.replaceAll(DECEIVING, (char) => {
    const code = char.charCodeAt(0).toString(16).toUpperCase();
    return `⟨U+${code.padStart(4, "0")}⟩`;
  });
}
