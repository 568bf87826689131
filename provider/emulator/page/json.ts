export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A string, an empty object or list, a bracket, comma, colon, number or word, with any whitespace around it. */
const TOKEN = /\s*("(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|[^\s{}[\],:"]+)\s*/gs;

/** Without a limit, the indentation of n nested brackets would have about n² characters. */
const MAX_DEPTH = 20;

/** Indenting takes about a second per megabyte. */
const MAX_CHARACTERS = 100_000;

/**
 * Writes a JSON object or list with a line for each entry. Returns other text, or text that is too long,
 * unchanged. Keeps every token as it was written: escapes, digits, order of keys.
 */
export function indentJson(text: string): string {
  if (text.length > MAX_CHARACTERS || !/^\s*[{[]/.test(text) || parseJson(text) === undefined) return text;
  let depth = 0;
  const newLine = (): string => `\n${"  ".repeat(Math.min(depth, MAX_DEPTH))}`;
  return text.replaceAll(TOKEN, (_, token: string) => {
    if (token === ":") return ": ";
    if (token === ",") return `,${newLine()}`;
    if (token === "{" || token === "[") depth += 1;
    if (token === "}" || token === "]") depth -= 1;
    if (token === "{" || token === "[") return token + newLine();
    return token === "}" || token === "]" ? newLine() + token : token;
  });
}
