import { toJsonText } from "../../cli/output.js";
import type { TableOptions } from "../../cli/table.js";
import type { Block } from "./document.js";
import { toMarkdown } from "./markdown.js";
import { toText } from "./text.js";

/** `text` is for terminals, `markdown` for pages such as the summary of a job, `json` for scripts. */
export type Format = "text" | "markdown" | "json";

export interface RenderOptions {
  /** What the terminal can show, for `text`. Default: no terminal. */
  table?: TableOptions;
  /** How the command line is called, in what it says to do next. Default "node fleet.ts". */
  program?: string;
}

/** Shows a report. JSON has all of it; the others leave out what is too long, and say how much. */
export function renderAs<Report>(
  report: Report,
  format: Format,
  describe: (report: Report, program: string) => readonly Block[],
  { table = NO_TERMINAL, program = "node fleet.ts" }: RenderOptions = {},
): string {
  if (format === "json") return toJsonText(report);
  const blocks = describe(report, program);
  return format === "text" ? toText(blocks, table) : toMarkdown(blocks);
}

const NO_TERMINAL: TableOptions = { width: undefined, isColoured: false };
