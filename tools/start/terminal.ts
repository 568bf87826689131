import { join, relative } from "node:path";
import process from "node:process";
import { styleText } from "node:util";
import { withProgress } from "../lib/progress.mjs";
import { run } from "../lib/run.ts";

/** How long `pulumi` may take to end cleanly after Ctrl-C, in milliseconds. */
const graceMs = 20_000;

/** The output of `npm start`. It has colours only on a terminal, and none if `NO_COLOR` is set. */
const stream = process.stdout;
const print = (line: string): void => void stream.write(`${line}\n`);
export const printHeading = (text: string): void => print(`\n${styleText("bold", text, { stream })}`);
/** Prints the result of a command. */
export const printResult = (line: string): void => print(`  ${line}`);
/** Prints a line to paste into a shell. */
export const printPaste = (line: string): void => print(styleText("cyan", line, { stream }));
const printCommand = (line: string): void =>
  print(`${styleText("dim", "$", { stream })} ${styleText("cyan", line, { stream })}`);

export type Shell = ReturnType<typeof createShell>;

/** Returns a shell that runs commands as a person at a terminal would, and prints each one first. */
export function createShell(root: string, env: NodeJS.ProcessEnv, signal: AbortSignal) {
  let cwd: string | undefined;
  return {
    /** Changes to a folder of the stage. */
    cd(folder: string): void {
      const target = join(root, folder);
      printCommand(`cd ${cwd === undefined ? target : relative(cwd, target)}`);
      cwd = target;
    },
    /** Runs `pulumi` in that folder and returns its output. `input` is what a person would type at a prompt. */
    pulumi(line: string, input = ""): Promise<string> {
      printCommand(`pulumi ${line}`);
      const options = { env, signal, cwd, graceMs, input };
      const work = (onLine: (line: string) => void) => run("pulumi", line.split(" "), { ...options, onLine });
      return withProgress("", work, stream);
    },
  };
}
