import { endProcess, EXIT } from "../output.js";
import { reportError, reportInterruption } from "../report-error.js";

/**
 * Runs `work`, then exits the process with the code that `work` returns, or with `failed` if `work` fails.
 * The signal that `work` receives fires at the first Ctrl-C, SIGTERM or SIGHUP.
 */
export async function runToEnd(
  failed: number,
  work: (signal: AbortSignal) => Promise<number>,
): Promise<void> {
  // A closed pipe, as in `… | head`, or a closed terminal must not abort a run halfway.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "EIO") process.exit(EXIT.failed);
  });
  process.stderr.on("error", () => undefined);
  const signal = listenForStop();
  const code = await work(signal).catch((error: unknown) => {
    if (signal.aborted && error === signal.reason) {
      reportInterruption();
      return EXIT.interrupted;
    }
    const reported = reportError(error, "fleet");
    return reported === EXIT.failed ? failed : reported;
  });
  await endProcess(signal.aborted && code !== EXIT.done ? EXIT.interrupted : code);
}

/** A program under `npm run` receives each Ctrl-C twice, so two within this time count as one press. */
const ONE_PRESS_MS = 300;

/**
 * The signal asks the run to stop: it fires at the first Ctrl-C, SIGTERM or SIGHUP. A second Ctrl-C stops the
 * process and its engines at once.
 */
function listenForStop(): AbortSignal {
  const controller = new AbortController();
  let stoppedAt: number | undefined;
  const stop = (): void => {
    stoppedAt ??= Date.now();
    controller.abort();
  };
  process.on("SIGINT", () => {
    // When this process exits, its engines end too.
    if (stoppedAt !== undefined && Date.now() - stoppedAt > ONE_PRESS_MS) process.exit(EXIT.interrupted);
    stop();
  });
  process.on("SIGTERM", stop);
  process.on("SIGHUP", stop);
  return controller.signal;
}
