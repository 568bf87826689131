/** Absolute, as schema/ asks for it: `http:example`, `//example` and `/path` would be taken relative to this page. */
const ABSOLUTE = /^https?:\/\/[^\s/?#]/i;

/** The URL parser drops tabs and line ends and trims control characters: what is shown would not be what is opened. */
const CONTROL = /\p{Cc}/u;

/**
 * The address that may become a link or a medium of this page: absolute, http or https, without control characters, in
 * the parser's spelling. Null for all else, which stays text.
 */
export function safeUrl(text: unknown): string | null {
  if (typeof text !== "string" || CONTROL.test(text) || !ABSOLUTE.test(text)) return null;
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
}

/** The last segment of the path, decoded if it can be: what a file is called. The host if there is none. */
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
