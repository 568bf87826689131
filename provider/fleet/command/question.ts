import { createInterface } from "node:readline";
import { orAborted } from "../../lib/abort.js";
import { UsageError } from "../../cli/usage-error.js";

/** Throws unless somebody can be asked, or has agreed already. */
export function requireConsent(command: string, isGiven = false): void {
  if (isGiven || (process.stdin.isTTY && process.stderr.isTTY)) return;
  throw new UsageError(
    `${command} asks before it changes anything, and there is no terminal to ask on; give --yes to run it without`,
  );
}

/** Asks on the terminal. Gives what is typed, which is nothing at the end of the input. Rejects when the signal fires. */
export async function ask(question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, terminal: false });
  process.stderr.write(question);
  try {
    return await orAborted(
      new Promise<string>((resolve) => {
        lines.once("line", resolve);
        lines.once("close", () => resolve(""));
      }),
      signal,
    );
  } finally {
    lines.close();
  }
}

/** Asks for a yes. Everything else is a no. */
export const isAgreed = async (question: string, signal: AbortSignal): Promise<boolean> =>
  /^y(es)?$/i.test((await ask(`${question} (y/N) `, signal)).trim());
