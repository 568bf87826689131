import { toPlainLines, toPlainText } from "../lib/plain-text.js";

/** How every command ends. */
export const EXIT = { done: 0, failed: 1, usageError: 2, interrupted: 130 } as const;

/** What --json means for a failure. */
export const JSON_FAILURES =
  'With --json a failure is the last line of stderr: { "error": { "code", "message" } }.';

/** Ends the help of a command. */
export const ENDINGS = `
Exit code: 0 success, 1 failure, 2 usage or configuration error, 130 interrupted (Ctrl-C).
${JSON_FAILURES}`;

/** The result, for people or scripts. */
export const print = (text: string): void => void process.stdout.write(text);

/** The result for scripts. */
export const printJson = (value: unknown): void => print(toJsonText(value));

/** JSON that is fit for a terminal too: JSON itself leaves C1 controls as they are. */
export function toJsonText(value: unknown): string {
  const lines = JSON.stringify(value, null, 2).split("\n");
  return `${lines.map(toPlainText).join("\n")}\n`;
}

/** For people, not for scripts: those read stdout. */
export const note = (text: string): void => void process.stderr.write(`${toPlainLines(text)}\n`);

/** Prints what works and should be fixed nevertheless. */
export const warn = (line: string): void => note(`warning: ${line}`);
