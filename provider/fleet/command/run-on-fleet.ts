import { EXIT } from "../../cli/output.js";
import { reportError, reportInterruption } from "../../cli/report-error.js";
import { orAborted } from "../../lib/abort.js";
import type { Fleet } from "../fleet.js";
import type { RunOptions } from "../run-options.js";
import { LiveLine } from "./live-line.js";
import type { FleetSource } from "./program.js";
import { FleetProgress } from "./progress.js";
import { listenForStop, type Stop } from "./stop.js";

/** What the work of a command gets. */
export interface Session {
  fleet: Fleet;
  /** How the command line is called. */
  program: string;
  screen: LiveLine;
  /** Fires at Ctrl-C. */
  signal: AbortSignal;
  /** Runs the fleet, and shows on stderr how far it is. */
  run<Report>(start: (options: Pick<RunOptions, "signal" | "onEvent">) => Promise<Report>): Promise<Report>;
}

export interface FleetWork {
  /** Throws what can be told without the fleet. */
  check?: () => void | Promise<void>;
  /** Gives the exit code. */
  work: (session: Session) => Promise<number>;
  /** The exit code after an error. */
  failed?: number;
}

/** Opens the fleet, does the work of a command, closes the fleet, and ends the process. */
export async function runOnFleet(source: FleetSource, work: FleetWork): Promise<void> {
  // A reader that has gone, as in `… | head`, does not end a run in its middle; neither does a terminal that was closed.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "EIO") process.exit(EXIT.failed);
  });
  process.stderr.on("error", () => undefined);
  const screen = new LiveLine(process.stderr);
  await endProcess(await exitCodeOf(source, { work, screen, stop: listenForStop(screen) }));
}

interface Setting {
  work: FleetWork;
  screen: LiveLine;
  stop: Stop;
}

async function exitCodeOf(source: FleetSource, { work, screen, stop }: Setting): Promise<number> {
  const { signal } = stop;
  let fleet: Fleet | undefined;
  try {
    await work.check?.();
    const opened = await orAborted(source.open(), signal);
    fleet = opened;
    // The signals are sent before this process ends.
    stop.onKill(() => void opened.close({ kill: true }));
    const code = await work.work(sessionOf(opened, source.name, { screen, stop }));
    return signal.aborted && code !== EXIT.done ? EXIT.interrupted : code;
  } catch (error) {
    if (error === signal.reason) reportInterruption();
    const code = error === signal.reason ? EXIT.interrupted : reportError(error, "fleet");
    if (signal.aborted) return EXIT.interrupted;
    return code === EXIT.failed ? (work.failed ?? code) : code;
  } finally {
    await fleet?.close();
  }
}

const sessionOf = (
  fleet: Fleet,
  program: string,
  { screen, stop }: Pick<Setting, "screen" | "stop">,
): Session => ({
  fleet,
  program,
  screen,
  signal: stop.signal,
  run: async (start) => {
    const progress = new FleetProgress(screen, stop.signal);
    try {
      return await stop.whileRunning(() =>
        start({ signal: stop.signal, onEvent: (event) => progress.take(event) }),
      );
    } finally {
      progress.end();
    }
  },
});

/** Ends the process when all that it printed is written: on some systems a pipe takes it later. */
export async function endProcess(code: number): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map(untilWritten));
  process.exit(code);
}

const untilWritten = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    if (stream.writableLength === 0) resolve();
    else stream.write("", () => resolve());
  });
