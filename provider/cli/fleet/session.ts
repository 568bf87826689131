import { createInterface } from "node:readline";
import type { Fleet } from "../../fleet/fleet.js";
import type { RunOptions } from "../../fleet/options.js";
import { killEngines } from "../../fleet/pulumi.js";
import { orAborted } from "../../lib/abort.js";
import { EXIT } from "../output.js";
import { reportError, reportInterruption } from "../report-error.js";
import { FleetProgress, LiveLine } from "./progress.js";

/** Whose command line it is. */
export interface FleetSource {
  /** How the command line is called, such as `node fleet.ts`. */
  name: string;
  open: () => Promise<Fleet>;
}

/** What a command works with. */
export interface Session {
  /** Reads the definition and the list, which may need variables of the environment, and the backend. */
  open: () => Promise<Fleet>;
  /** How the command line is called. */
  program: string;
  screen: LiveLine;
  /** Fires at Ctrl-C. */
  signal: AbortSignal;
  /** Runs the fleet, and shows its progress on stderr. */
  run: <Report>(
    start: (options: Pick<RunOptions, "signal" | "onEvent">) => Promise<Report>,
  ) => Promise<Report>;
}

export interface FleetWork {
  /** Throws what can be checked without the fleet. */
  check: () => void | Promise<void>;
  /** Returns the exit code. */
  work: (session: Session) => Promise<number>;
  /** The exit code after an error. */
  failed: number;
}

/** Asks on the terminal. Returns what is typed, or nothing at the end of the input. Rejects when the signal fires. */
export async function ask(question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, terminal: false });
  process.stderr.write(question);
  try {
    return await orAborted(
      new Promise<string>((answer) => {
        lines.once("line", answer);
        lines.once("close", () => answer(""));
      }),
      signal,
    );
  } finally {
    lines.close();
  }
}

/** Asks for a yes. Anything else is a no. */
export const isAgreed = async (question: string, signal: AbortSignal): Promise<boolean> =>
  /^y(es)?$/i.test((await ask(`${question} (y/N) `, signal)).trim());

/** Does the work of a command, and ends the process. */
export async function runOnFleet(source: FleetSource, work: FleetWork): Promise<void> {
  // A closed pipe, as in `… | head`, or a closed terminal must not abort a run halfway.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "EIO") process.exit(EXIT.failed);
  });
  process.stderr.on("error", () => undefined);
  await endProcess(await exitCodeOf(source, work));
}

async function exitCodeOf(
  { name: program, open }: FleetSource,
  { check, work, failed }: FleetWork,
): Promise<number> {
  const screen = new LiveLine(process.stderr);
  const stop = listenForStop(screen);
  const { signal } = stop;
  try {
    await check();
    const code = await work({
      open: () => orAborted(open(), signal),
      program,
      screen,
      signal,
      run: (start) => showProgress(start, { screen, stop }),
    });
    return signal.aborted && code !== EXIT.done ? EXIT.interrupted : code;
  } catch (error) {
    if (error === signal.reason) reportInterruption();
    const code = error === signal.reason ? EXIT.interrupted : reportError(error, "fleet");
    if (signal.aborted) return EXIT.interrupted;
    return code === EXIT.failed ? failed : code;
  }
}

async function showProgress<Report>(
  start: (options: Pick<RunOptions, "signal" | "onEvent">) => Promise<Report>,
  { screen, stop }: { screen: LiveLine; stop: Stop },
): Promise<Report> {
  const progress = new FleetProgress(screen, stop.signal);
  stop.isRunning = true;
  try {
    return await start({ signal: stop.signal, onEvent: (event) => progress.take(event) });
  } finally {
    stop.isRunning = false;
    progress.end();
  }
}

/** `npm run` repeats the Ctrl-C of the terminal, so two of them this close are one. In milliseconds. */
const ONE_PRESS_MS = 300;

/** How a command learns that it must end. */
interface Stop {
  /** Fires at the first Ctrl-C, SIGTERM or SIGHUP. */
  signal: AbortSignal;
  /** Whether engines run: a Ctrl-C then prints what it waits for. */
  isRunning: boolean;
}

/** Listens for signals. The first asks the run to stop; a second Ctrl-C stops the process and its engines at once. */
function listenForStop(screen: LiveLine): Stop {
  const controller = new AbortController();
  const listening: Stop = { signal: controller.signal, isRunning: false };
  let stoppedAt = 0;
  const stop = (): void => {
    if (controller.signal.aborted) return;
    stoppedAt = Date.now();
    if (listening.isRunning) {
      screen.log(
        "stopping: the engine is finishing its current steps; press Ctrl-C again to stop at once (this may leave a lock)",
      );
    }
    controller.abort();
  };
  process.on("SIGINT", () => {
    if (controller.signal.aborted && Date.now() - stoppedAt > ONE_PRESS_MS) {
      killEngines();
      process.exit(EXIT.interrupted);
    }
    stop();
  });
  process.on("SIGTERM", stop);
  process.on("SIGHUP", stop);
  return listening;
}

/** Ends the process when all output is written: on some systems a pipe accepts it later. */
export async function endProcess(code: number): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map(untilWritten));
  process.exit(code);
}

const untilWritten = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((done) => {
    if (stream.writableLength === 0) done();
    else stream.write("", () => done());
  });
