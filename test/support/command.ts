import { execa } from "execa";
import { vi } from "vitest";
import { afterTests } from "./http.ts";
import {
  endProcessesNaming,
  processesNaming,
  signalIfAlive,
  type ProcessInfo,
} from "../../tools/lib/processes.ts";

/** A running command. It has its own process group, as a command in a shell has. */
export interface Command {
  done: Promise<{
    exitCode: number | undefined;
    stdout: string;
    /** Both streams. */
    output: string;
  }>;
  /** Both streams so far. */
  output(): string;
  /** Waits until a condition holds. Throws an error with the output if the command ends first. */
  until(isSo: () => boolean | Promise<boolean>): Promise<void>;
  /** The processes that the command started and that still run. They are found by their environment. */
  processes(): Promise<ProcessInfo[]>;
  /** Sends SIGINT to the group, as one Ctrl-C does. */
  interrupt(): void;
  /** Kills the command's own process with SIGKILL, and nothing else. */
  kill(): void;
  /** Kills everything that the command started, all at once, with SIGKILL. */
  killEverything(): Promise<void>;
}

export type StartCommand = (file: string, ...parameters: string[]) => Command;

/**
 * Returns a function that starts commands in this folder, with only this environment. After the tests,
 * processes that the commands left behind are ended.
 */
export function commandsIn(folder: string, environment: Record<string, string>): StartCommand {
  afterTests(() => endProcessesNaming(folder));
  return (file, ...parameters) => {
    const child = execa(file, parameters, {
      cwd: folder,
      env: { ...environment, APICHAT_TEST_RUN: folder },
      extendEnv: false,
      stdin: "ignore",
      all: true,
      reject: false,
      detached: true,
    });
    let output = "";
    child.all.on("data", (chunk: Buffer) => void (output += chunk.toString("utf8")));
    const { pid = Number.NaN } = child;
    const done = child.then(({ exitCode, stdout, all }) => ({ exitCode, stdout, output: all }));
    return {
      done,
      output: () => output,
      until: async (isSo) => {
        const ended = done.then(() => {
          throw new Error(`the command has ended:\n${output}`);
        });
        await Promise.race([vi.waitUntil(isSo, { timeout: 120_000, interval: 20 }), ended]);
      },
      processes: () => processesNaming(folder),
      interrupt: () => signalIfAlive(-pid, "SIGINT"),
      kill: () => signalIfAlive(pid, "SIGKILL"),
      killEverything: () => endProcessesNaming(folder),
    };
  };
}
