import { join, relative } from "node:path";
import process from "node:process";
import { styleText } from "node:util";
import { withProgress } from "../setup/progress.mjs";
import { CommandError, run } from "../setup/run.mjs";

/** How long `pulumi` may take to end in good order after Ctrl-C, in milliseconds. */
const graceMs = 20_000;

/** A command failed, or did not do what it should. `output` is what it printed. */
export class StepError extends Error {
  readonly output: string;

  constructor(message: string, output: string) {
    super(message);
    this.name = "StepError";
    this.output = output;
  }
}

/** What `npm start` prints. Colours and moving lines only on a terminal; `NO_COLOR` is respected. */
const stream = process.stdout;
const print = (line: string): void => void stream.write(`${line}\n`);
export const printHeading = (text: string): void => print(`\n${styleText("bold", text, { stream })}`);
/** What came of a command. */
export const printResult = (line: string): void => print(`  ${line}`);
export const printFailure = (text: string): void => print(`\n${styleText("red", text, { stream })}`);
/** A line to copy into a shell. */
export const printPaste = (line: string): void => print(styleText("cyan", line, { stream }));
/** A command, as a person would type it. */
const printCommand = (line: string): void =>
  print(`${styleText("dim", "$", { stream })} ${styleText("cyan", line, { stream })}`);

/** Runs commands as a person at a terminal would, and prints each before it runs. */
export interface Shell {
  /** Goes to a folder of the stage. */
  cd(folder: string): void;
  /** Runs `pulumi` there and returns what it printed. `input` is what a person would type or paste when asked. */
  pulumi(args: readonly string[], input?: string): Promise<string>;
}

export function createShell(root: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Shell {
  let cwd: string | undefined;
  return {
    cd: (folder) => {
      const target = join(root, folder);
      printCommand(`cd ${cwd === undefined ? target : relative(cwd, target)}`);
      cwd = target;
    },
    pulumi: async (args, input = "") => {
      const line = ["pulumi", ...args].join(" ");
      printCommand(line);
      const options = { cwd: cwd ?? root, env, signal, graceMs, input };
      try {
        const work = (onLine: (line: string) => void): Promise<string> =>
          run("pulumi", args, { ...options, onLine });
        return await withProgress("", work, stream);
      } catch (error) {
        if (error instanceof CommandError) throw new StepError(`${line}: ${error.message}`, error.output);
        throw error;
      }
    },
  };
}
