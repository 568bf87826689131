import { text as readText } from "node:stream/consumers";
import { styleText } from "node:util";
import { toPlainLines, toPlainText } from "../lib/plain-text.js";

export const EXIT = { done: 0, failed: 1, usageError: 2, interrupted: 130 } as const;

/** The effect of --json on a failure. */
export const JSON_FAILURES =
  'With --json a failure is the last line of stderr: { "error": { "code", "message" } }.';

export const ENDINGS = `
Exit code: 0 success, 1 failure, 2 usage or configuration error, 130 interrupted (Ctrl-C).
${JSON_FAILURES}`;

export const print = (text: string): void => void process.stdout.write(text);

export const printResult = (
  { json }: { json?: boolean | undefined },
  value: unknown,
  format: () => string,
): void => print(json ? toJsonText(value) : format());

/** Returns JSON that is also safe to print on a terminal: JSON itself does not escape C1 controls. */
function toJsonText(value: unknown): string {
  const lines = JSON.stringify(value, null, 2).split("\n");
  return `${lines.map(toPlainText).join("\n")}\n`;
}

/** All of stdin, without the line break at its end. */
export const readStdin = async (): Promise<string> => (await readText(process.stdin)).replace(/\r?\n$/, "");

export type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

const paintOn =
  (stream: NodeJS.WriteStream): Paint =>
  (style, text) =>
    styleText(style, text, { stream });

export const paint = paintOn(process.stdout);
export const paintOnStderr = paintOn(process.stderr);

/** The date when the process started. The locale "sv" formats dates as ISO 8601 does. */
const STARTED_ON = new Date().toLocaleDateString("sv");

/** The local time of an event, with its date if the process did not start on that day. */
export const formatTime = (at: string): string =>
  new Date(at).toLocaleString("sv").replace(`${STARTED_ON} `, "");

/** Prints a line for people on stderr: scripts read stdout. */
export const note = (text: string): void => void process.stderr.write(`${toPlainLines(text)}\n`);

export const warn = (line: string): void => note(`warning: ${line}`);

/** Ends the process, but only after all its output is written: the reader of a pipe may be slow. */
export async function endProcess(code: number): Promise<void> {
  const written = [process.stdout, process.stderr].map(
    (stream) => new Promise<void>((done) => void stream.write("", () => done())),
  );
  await Promise.all(written);
  process.exit(code);
}
