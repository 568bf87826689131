import { ApiChatError, toPlainText } from "../errors/index.js";

const WORTH_A_LINE_MS = 2_000;

/** `info`: what was done. `warning`: something that works but should be fixed. `progress`: what is being waited for. */
export type LineKind = "info" | "warning" | "progress";

type Printer = (kind: LineKind, name: string, text: string) => void;

/** Lines start with the resource's name, because the engine does not know which resource they are about. */
let printer: Printer = (kind, name, text) =>
  console.log(`${name}: ${kind === "warning" ? "warning: " : ""}${text}`);

const print: Printer = (kind, name, text) => printer(kind, toPlainText(name), text);

export const printLine = (name: string, text: string): void => print("info", name, toPlainText(text));

/** Like {@link printLine}, for something that works but should be fixed. Further lines may contain details. */
export const printWarning = (name: string, ...lines: string[]): void =>
  print("warning", name, lines.map(toPlainText).join("\n"));

/** Replaces the printer, for commands that need stdout for their result. Returns the previous printer. */
export function printLinesWith(next: Printer): Printer {
  const previous = printer;
  printer = next;
  return previous;
}

/** Prints a line if the work takes over two seconds. If `signal` ends the work, the error says what was in progress. */
export async function printIfSlow<T>(
  name: string,
  describe: () => string,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await noticeIfSlow(() => print("progress", name, toPlainText(describe())), work);
  } catch (error) {
    if (error !== signal?.reason || !(error instanceof ApiChatError)) throw error;
    throw error.with({ summary: `${error.summary}, while ${describe()}` });
  }
}

export async function noticeIfSlow<T>(notice: () => void, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(notice, WORTH_A_LINE_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
