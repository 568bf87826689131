import { endProcess, EXIT, note } from "../output.js";
import { reportError, reportInterruption } from "../report-error.js";

/** Does the work of a command, which returns the exit code, and ends the process. `failed`: the code after an error. */
export async function runToEnd(failed: number, work: (stop: Stop) => Promise<number>): Promise<void> {
  // A closed pipe, as in `… | head`, or a closed terminal must not abort a run halfway.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "EIO") process.exit(EXIT.failed);
  });
  process.stderr.on("error", () => undefined);
  const stop = listenForStop();
  await endProcess(await exitCodeOf(work(stop), stop.signal, failed));
}

async function exitCodeOf(work: Promise<number>, signal: AbortSignal, failed: number): Promise<number> {
  try {
    const code = await work;
    return signal.aborted && code !== EXIT.done ? EXIT.interrupted : code;
  } catch (error) {
    if (signal.aborted && error === signal.reason) {
      reportInterruption();
      return EXIT.interrupted;
    }
    const code = reportError(error, "fleet");
    if (signal.aborted) return EXIT.interrupted;
    return code === EXIT.failed ? failed : code;
  }
}

/** `npm run` forwards a Ctrl-C that the terminal also sends, so two this close count as one. In milliseconds. */
const ONE_PRESS_MS = 300;

export interface Stop {
  /** Fires at the first Ctrl-C, SIGTERM or SIGHUP. */
  signal: AbortSignal;
  /** Whether engines run: a Ctrl-C then prints what it waits for. */
  isRunning: boolean;
}

/** Listens for signals. The first asks the run to stop; a second Ctrl-C stops the process and its engines at once. */
function listenForStop(): Stop {
  const controller = new AbortController();
  const listening: Stop = { signal: controller.signal, isRunning: false };
  let stoppedAt = 0;
  const stop = (): void => {
    if (controller.signal.aborted) return;
    stoppedAt = Date.now();
    if (listening.isRunning) {
      note(
        "stopping: the engine is finishing its current steps; " +
          "press Ctrl-C again to stop at once (this may leave a lock)",
      );
    }
    controller.abort();
  };
  process.on("SIGINT", () => {
    if (controller.signal.aborted && Date.now() - stoppedAt > ONE_PRESS_MS) {
      // The engines end with this process.
      process.exit(EXIT.interrupted);
    }
    stop();
  });
  process.on("SIGTERM", stop);
  process.on("SIGHUP", stop);
  return listening;
}
