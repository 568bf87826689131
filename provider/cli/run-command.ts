import { setImmediate as nextTurn } from "node:timers/promises";
import { orAborted } from "../lib/abort.js";
import { EXIT, note, warn } from "./output.js";
import { reportError, reportInterruption } from "./report-error.js";
import { noticeIfSlow, printLinesWith } from "../lib/provider-process.js";

/** What the work of a command gets to end early. */
export interface Interruption {
  /** Fires at Ctrl-C. */
  signal: AbortSignal;
  /** Does what Ctrl-C does, where a terminal without echo does not turn it into a signal. */
  interrupt: () => void;
}

/**
 * Runs a command's work, which gives the exit code, and ends the process: a connection that is still being made would keep
 * it alive. Ctrl-C ends it at once with 130. A failure is reported on stderr.
 */
export async function runToExit(work: (interruption: Interruption) => Promise<number>): Promise<void> {
  process.exit(await runInterruptibly(work).catch(reportError));
}

async function runInterruptibly(work: (interruption: Interruption) => Promise<number>): Promise<number> {
  const interruption = new AbortController();
  const { signal } = interruption;
  const interrupt = (): void => interruption.abort();
  process.once("SIGINT", interrupt);
  try {
    return await orAborted(work({ signal, interrupt }), signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    // A question that is open ends its line first.
    await nextTurn();
    reportInterruption();
    return EXIT.interrupted;
  }
}

/**
 * Resolves at the first Ctrl-C or SIGTERM, for commands that run until then: what is in progress can be ended cleanly. The
 * second ends the process at once, with exit code 1.
 */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    let calls = 0;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        calls += 1;
        if (calls > 1) process.exit(1);
        resolve();
      });
    }
  });
}

/** Runs `work`, and prints on stderr what is in progress if it takes longer than two seconds. */
export const noteIfSlow = <T>(describe: () => string, work: () => Promise<T>): Promise<T> =>
  noticeIfSlow(() => note(describe()), work);

/** Lines of the code that commands share with the resources go to stderr, without the resource's name. */
export const divertLinesToStderr = (): void =>
  void printLinesWith((kind, _name, line) => (kind === "warning" ? warn : note)(line));
