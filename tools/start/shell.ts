import { join, relative } from "node:path";
import { CommandError, run } from "../setup/run.mjs";
import type { Terminal } from "./terminal.ts";

/** How long `pulumi` may take to end in good order after Ctrl-C, in milliseconds. */
const graceMs = 20_000;

/** Runs commands as a person at a terminal would, and prints each before it runs. */
export interface Shell {
  /** Goes to a folder of the stage. */
  cd(folder: string): void;
  /** Runs `pulumi` there and returns what it printed. `input` is what a person would type or paste when asked. */
  pulumi(args: readonly string[], input?: string): Promise<string>;
}

/** A command failed, or did not do what it should. `output` is what it printed. */
export class StepError extends Error {
  readonly output: string;

  constructor(message: string, output: string) {
    super(message);
    this.name = "StepError";
    this.output = output;
  }
}

export interface ShellOptions {
  terminal: Terminal;
  root: string;
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
}

export function createShell({ terminal, root, env, signal }: ShellOptions): Shell {
  let cwd: string | undefined;
  return {
    cd: (folder) => {
      const target = join(root, folder);
      terminal.command(`cd ${cwd === undefined ? target : relative(cwd, target)}`);
      cwd = target;
    },
    pulumi: async (args, input = "") => {
      const line = ["pulumi", ...args].join(" ");
      terminal.command(line);
      try {
        return await terminal.wait((onLine) =>
          run("pulumi", args, { cwd: cwd ?? root, env, signal, graceMs, input, onLine }),
        );
      } catch (error) {
        if (error instanceof CommandError) throw new StepError(`${line}: ${error.message}`, error.output);
        throw error;
      }
    },
  };
}
