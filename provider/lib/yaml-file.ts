import { type Document, type ErrorCode, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import type * as z from "zod";
import { invalidConfig, readTextFile } from "./files.js";
import { parse, type Problem } from "./validate.js";

/**
 * Reads a file of YAML or JSON that matches a schema. Throws `invalid_config` with the line, column and field
 * of every problem, but none of the file's values, which may be secret.
 */
export async function readYamlFile<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  return parseYaml(await readTextFile(path, "YAML or JSON"), schema, path);
}

/** Parses YAML or JSON like {@link readYamlFile}; each line of an error starts with `fileName`. */
export function parseYaml<T>(text: string, schema: z.ZodType<T>, fileName: string): T {
  const lines = new LineCounter();
  // The parser's messages quote the file, so only the codes and positions of its errors are used.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: "error" });
  const parsed: ParsedText = { document, lines, fileName };
  rejectSyntax(parsed);
  const { data, problems } = parse(schema, toValue(parsed));
  if (problems === undefined) return data;
  throw invalidConfig(
    problems
      .map((problem) => ({ ...problem, ...findPlace(document, problem) }))
      .toSorted((a, b) => a.order - b.order)
      .map(({ offset, field, text: problem }) =>
        [placeOf(parsed, offset), ...(field === "" ? [] : [field]), problem].join(": "),
      ),
  );
}

interface ParsedText {
  document: Document;
  lines: LineCounter;
  fileName: string;
}

/** The messages for syntax errors, by code. All other codes have one general message. */
const SYNTAX: Partial<Record<ErrorCode, string>> = {
  DUPLICATE_KEY: "the same field appears twice; remove one of them",
  TAB_AS_INDENT: "the line is indented with a tab; use spaces",
  BAD_INDENT:
    "the indentation is wrong, or a bracket or quote before it is not closed; align the line, or close it",
  MISSING_CHAR: "a quote or a bracket is missing, or is not closed; add it",
  MULTIPLE_DOCS: "a second document starts here (---); keep one document in the file",
  BLOCK_AS_IMPLICIT_KEY: 'a value contains ": "; put the value in quotes',
};

function rejectSyntax({ document, ...parsed }: ParsedText): void {
  // Reports only the first error: the others mostly follow from it.
  const [problem] = [...document.errors, ...document.warnings];
  if (problem === undefined) return;
  const text =
    SYNTAX[problem.code] ?? "is neither YAML nor JSON here; look for a missing quote, colon or bracket";
  throw invalidConfig([`${placeOf(parsed, problem.pos[0])}: ${text}`]);
}

function toValue({ document, fileName }: ParsedText): unknown {
  try {
    // More than the default of 100: many entries of a long list may refer to one anchor.
    return document.toJS({ maxAliasCount: 100_000 });
  } catch {
    // The parser's message would quote the alias.
    throw invalidConfig([
      `${fileName}: an alias (*name) has no anchor (&name) before it, or there are too many aliases`,
    ]);
  }
}

function placeOf({ lines, fileName }: Omit<ParsedText, "document">, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return line === 0 ? `${fileName}:1:1` : `${fileName}:${line}:${col}`;
}

/**
 * The offset of the value at a path, or of its name if `isKey`. A missing value has its parent's offset, but is sorted
 * by the parent's end, so that a misspelt name in the parent, the likely cause, is reported before it.
 */
function findPlace(
  document: Document,
  { path, isKey }: Pick<Problem, "path" | "isKey">,
): { offset: number; order: number } {
  const holder = isKey ? document.getIn(path.slice(0, -1), true) : undefined;
  const pair = isMap(holder)
    ? holder.items.find(({ key }) => isScalar(key) && key.value === path.at(-1))
    : undefined;
  const node = isNode(pair?.key) ? pair.key : document.getIn(path, true);
  if (isNode(node) && node.range) return { offset: node.range[0], order: node.range[0] };
  if (path.length === 0) return { offset: 0, order: 0 };
  const parent = path.slice(0, -1);
  const { offset } = findPlace(document, { path: parent, isKey: false });
  const above = document.getIn(parent, true);
  return { offset, order: isNode(above) && above.range ? above.range[1] : offset };
}
