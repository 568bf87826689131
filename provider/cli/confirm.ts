import { createInterface } from "node:readline";
import { orAborted } from "../lib/abort.js";
import { UsageError } from "./usage-error.js";

/** The answer to a (y/N) question that agrees. */
export const YES = /^y(es)?$/i;

/** Asks on the terminal. Returns what is typed, or "" at the end of the input. Rejects when the signal fires. */
export async function ask(question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, terminal: false });
  process.stderr.write(question);
  const typed = new Promise<string>((resolve) => {
    lines.once("line", resolve);
    lines.once("close", () => resolve(""));
  });
  return orAborted(typed, signal).finally(() => lines.close());
}

/** Throws a UsageError if nobody could answer a question of this command. */
export function requireTerminal(command: string): void {
  if (process.stdin.isTTY && process.stderr.isTTY) return;
  throw new UsageError(`${command} asks for confirmation, but there is no terminal; pass --yes to skip it`);
}
