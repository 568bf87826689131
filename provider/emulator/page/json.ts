export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A string, a bracket, a comma or colon, or a number or word. Whitespace between them is not a token. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;

const INDENT = "  ";

/** Without a limit, a body of brackets alone would grow with the square of its length. */
const MAX_DEPTH = 20;

/** Indenting takes a second for each megabyte. */
const MAX_CHARACTERS = 100_000;

/**
 * A JSON object or list with a line for each entry; any other or longer text as it is. Every token stays as
 * it was written: escapes, digits, order of keys.
 */
export function indentJson(text: string): string {
  const isIndentable =
    text.length <= MAX_CHARACTERS && /^\s*[{[]/.test(text) && parseJson(text) !== undefined;
  if (!isIndentable) return text;
  const tokens = text.match(TOKEN) ?? [];
  let depth = 0;
  return tokens
    .map((token, index) => {
      if (isOpening(token)) depth += 1;
      if (isClosing(tokens[index + 1])) depth -= 1;
      const breaks = isOpening(token) !== isClosing(tokens[index + 1]) || token === ",";
      const isLast = index === tokens.length - 1;
      return `${token}${token === ":" ? " " : ""}${breaks && !isLast ? newLine(depth) : ""}`;
    })
    .join("");
}

const isOpening = (token: string | undefined): boolean => token === "{" || token === "[";

const isClosing = (token: string | undefined): boolean => token === "}" || token === "]";

const newLine = (depth: number): string => `\n${INDENT.repeat(Math.min(depth, MAX_DEPTH))}`;
