import { expect } from "vitest";
import { startProgram, type Program, type ProgramOptions } from "./program.ts";

/** A program that goes on until it is told to end, and what it has printed so far. */
export interface LiveProgram extends Program {
  stdout: () => string;
  /** The lines of NDJSON, once one of them fits. */
  waitForJson<T = Record<string, unknown>>(fits: (line: Record<string, unknown>) => boolean): Promise<T>;
  /** Waits until stdout matches. */
  waitFor(pattern: RegExp): Promise<RegExpMatchArray>;
}

/** Starts the program and reads its stdout as it comes. */
export function startLive(parameters: readonly string[], options?: ProgramOptions): LiveProgram {
  const program = startProgram(parameters, options);
  let stdout = "";
  program.child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString("utf8")));
  const until = async (isThere: () => boolean): Promise<void> => {
    let isEnded = false;
    void program.ended.then(() => (isEnded = true));
    await expect.poll(() => isThere() || isEnded, { timeout: 30_000, interval: 10 }).toBe(true);
    if (!isThere()) throw new Error(`it has ended: ${JSON.stringify(await program.ended)}`);
  };
  return {
    ...program,
    stdout: () => stdout,
    waitForJson: async <T>(fits: (line: Record<string, unknown>) => boolean) => {
      const find = () => readJsonLines(stdout).find(fits);
      await until(() => find() !== undefined);
      return find() as T;
    },
    waitFor: async (pattern) => {
      await until(() => pattern.test(stdout));
      return pattern.exec(stdout) as RegExpMatchArray;
    },
  };
}

/** The whole lines. */
export const readJsonLines = (text: string): Record<string, unknown>[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
