import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { orAborted } from "../lib/abort.js";
import { EXIT, note } from "./output.js";
import { UsageError } from "./usage-error.js";

/** The answer that confirms a (y/N) question. */
const YES = /^y(es)?$/i;

/** Prompts unless `yes`. Returns whether the user agreed; if not, prints `otherwise`. Rejects when the signal fires. */
export async function confirm(
  question: string,
  {
    yes = false,
    agreed = YES,
    otherwise,
    signal,
  }: { yes?: boolean | undefined; agreed?: RegExp | undefined; otherwise: string; signal: AbortSignal },
): Promise<boolean> {
  const isAgreed = yes || agreed.test((await ask(question, signal)).trim());
  if (!isAgreed) note(otherwise);
  return isAgreed;
}

/** Prompts on the terminal. Returns what is typed, or "" at the end of the input. Rejects when the signal fires. */
async function ask(question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, terminal: false });
  process.stderr.write(question);
  return orAborted(readLine(lines), signal).finally(() => lines.close());
}

/** Prompts without echo. Ctrl-C then sends no signal, so this emits SIGINT. Returns "" at the end of the input. */
export async function askSecret(
  question: string,
  { input, output }: { input: NodeJS.ReadableStream; output: NodeJS.WritableStream } = {
    input: process.stdin,
    output: process.stderr,
  },
): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  output.write(question);
  lines.once("SIGINT", () => {
    if (!process.emit("SIGINT")) process.exit(EXIT.interrupted);
    lines.close();
  });
  return readLine(lines).finally(() => {
    lines.close();
    output.write("\n");
  });
}

const readLine = (lines: Interface): Promise<string> =>
  new Promise((resolve) => {
    lines.once("line", resolve);
    lines.once("close", () => resolve(""));
  });

/** Throws a UsageError if there is no terminal on which this command could prompt. */
export function requireTerminal(command: string): void {
  if (process.stdin.isTTY && process.stderr.isTTY) return;
  throw new UsageError(`${command} asks for confirmation, but there is no terminal; pass --yes instead`);
}
