import { setImmediate as nextTurn } from "node:timers/promises";
import { orAborted } from "../lib/abort.js";
import { noticeIfSlow, printLinesWith } from "../lib/progress.js";
import { type CredentialOptions, Credentials } from "./credentials.js";
import { EXIT, endProcess, note, warn } from "./output.js";
import { reportError, reportInterruption } from "./report-error.js";

export interface CommandRun {
  /** Fires at Ctrl-C. */
  signal: AbortSignal;
  credentials: Credentials;
}

/** Runs a command, then exits: an open connection would keep the process alive. Ctrl-C exits at once with 130. */
export async function runToExit(
  options: CredentialOptions,
  work: (run: CommandRun) => Promise<number>,
): Promise<void> {
  const interruption = new AbortController();
  const { signal } = interruption;
  process.once("SIGINT", () => interruption.abort());
  const credentials = new Credentials(options);
  await endProcess(
    await orAborted(work({ signal, credentials }), signal).catch(async (error) => {
      if (!signal.aborted) return reportError(error);
      // Let an open prompt end its line first.
      await nextTurn();
      reportInterruption();
      return EXIT.interrupted;
    }),
  );
}

/**
 * Resolves at the first Ctrl-C or SIGTERM, or when stdout is closed, so that a long-running command can finish
 * cleanly. A second signal ends the process at once, with exit code 1.
 */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    process.stdout
      .removeAllListeners("error")
      .once("error", resolve)
      .on("error", () => undefined);
    process.stderr.on("error", () => undefined);
    let calls = 0;
    for (const signal of ["SIGINT", "SIGTERM"]) {
      process.on(signal, () => {
        calls += 1;
        if (calls > 1) process.exit(1);
        resolve();
      });
    }
  });
}

export const noteIfSlow = <T>(describe: () => string, work: () => Promise<T>): Promise<T> =>
  noticeIfSlow(() => note(describe()), work);

/** From now on, code shared with the resources prints its lines to stderr, without a resource's name. */
export const divertLinesToStderr = (): void =>
  void printLinesWith((kind, _name, line) => (kind === "warning" ? warn : note)(line));
