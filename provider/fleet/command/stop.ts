import { EXIT } from "../../cli/output.js";
import type { LiveLine } from "./live-line.js";

/** `npm run` passes a Ctrl-C on that the terminal has sent already, so two of them this close are one. In milliseconds. */
const ONE_PRESS_MS = 300;

const STOPPING =
  "stopping: the engine finishes what is under way; press again to end at once (a lock may stay, --resume removes it)";

/** How a command learns that it is to end. */
export interface Stop {
  /** Fires at the first Ctrl-C, SIGTERM or SIGHUP. */
  signal: AbortSignal;
  /** Does some work, during which the engine is under way: a Ctrl-C then says what it waits for. */
  whileRunning<T>(work: () => Promise<T>): Promise<T>;
  /** What is to be done before the process ends at once. */
  onKill(kill: () => void): void;
}

/** Listens for signals. The first asks the run to end; a further Ctrl-C ends the process at once. */
export function listenForStop(screen: LiveLine): Stop {
  const controller = new AbortController();
  let stoppedAt = 0;
  let isRunning = false;
  let kill: (() => void) | undefined;
  const stop = (): void => {
    if (controller.signal.aborted) return;
    stoppedAt = Date.now();
    if (isRunning) screen.say(STOPPING);
    controller.abort();
  };
  process.on("SIGINT", () => {
    if (controller.signal.aborted && Date.now() - stoppedAt > ONE_PRESS_MS) {
      kill?.();
      process.exit(EXIT.interrupted);
    }
    stop();
  });
  process.on("SIGTERM", stop);
  process.on("SIGHUP", stop);
  return {
    signal: controller.signal,
    whileRunning: async (work) => {
      isRunning = true;
      try {
        return await work();
      } finally {
        isRunning = false;
      }
    },
    onKill: (given) => {
      kill = given;
    },
  };
}
