import { join, relative } from "node:path";
import process from "node:process";
import { styleText } from "node:util";
import { withProgress } from "../lib/progress.mjs";
import { run } from "../lib/run.ts";

/** How long `pulumi` may take to end cleanly after Ctrl-C, in milliseconds. */
const graceMs = 20_000;

/** The output of `npm start`. Colours and moving lines only on a terminal; `NO_COLOR` is respected. */
const stream = process.stdout;
const print = (line: string): void => void stream.write(`${line}\n`);
export const printHeading = (text: string): void => print(`\n${styleText("bold", text, { stream })}`);
/** Prints the result of a command. */
export const printResult = (line: string): void => print(`  ${line}`);
/** Prints a line to paste into a shell. */
export const printPaste = (line: string): void => print(styleText("cyan", line, { stream }));
const printCommand = (line: string): void =>
  print(`${styleText("dim", "$", { stream })} ${styleText("cyan", line, { stream })}`);

/** Runs commands as a person at a terminal would, and prints each one first. */
export class Shell {
  readonly #options: { env: NodeJS.ProcessEnv; signal: AbortSignal };
  readonly #root: string;
  #cwd: string | undefined;

  constructor(root: string, env: NodeJS.ProcessEnv, signal: AbortSignal) {
    this.#root = root;
    this.#options = { env, signal };
  }

  /** Changes to a folder of the stage. */
  cd(folder: string): void {
    const target = join(this.#root, folder);
    printCommand(`cd ${this.#cwd === undefined ? target : relative(this.#cwd, target)}`);
    this.#cwd = target;
  }

  /** Runs `pulumi` there and returns its output. `input` is what a person would type or paste at a prompt. */
  async pulumi(line: string, input = ""): Promise<string> {
    printCommand(`pulumi ${line}`);
    const options = { ...this.#options, cwd: this.#cwd, graceMs, input };
    const work = (onLine: (line: string) => void): Promise<string> =>
      run("pulumi", line.split(" "), { ...options, onLine });
    return await withProgress("", work, stream);
  }
}
