import { access, constants, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { createInterface } from "node:readline";
import { InvalidArgumentError, Option, type Command } from "commander";
import type { Fleet } from "../../fleet/fleet.js";
import { DEFAULT_LIMITS, parseShard, type FleetLimits, type RunOptions } from "../../fleet/options.js";
import { killEngines } from "../../fleet/pulumi.js";
import { orAborted } from "../../lib/abort.js";
import { EXIT, print } from "../output.js";
import { reportError, reportInterruption } from "../report-error.js";
import { tableOptionsOf } from "../table.js";
import { UsageError } from "../usage-error.js";
import type { Format, RenderOptions } from "./document.js";
import { LiveLine } from "./live-line.js";
import { FleetProgress } from "./progress.js";

/** Whose command line it is. */
export interface FleetSource {
  /** How the command line is called, such as `node fleet.ts`. */
  name: string;
  /** Opens the fleet; only commands that need one call it. */
  open: () => Promise<Fleet>;
}

/** What every command that runs stacks takes. */
export interface RunCommandOptions extends FleetLimits {
  json?: boolean;
  /** Prints Markdown in place of a table. */
  markdown?: boolean;
  jsonFile?: string;
  markdownFile?: string;
  yes?: boolean;
}

/** What the work of a command gets. */
export interface Session {
  fleet: Fleet;
  /** How the command line is called. */
  program: string;
  screen: LiveLine;
  /** Fires at Ctrl-C. */
  signal: AbortSignal;
  /** Runs the fleet, and shows its progress on stderr. */
  run<Report>(start: (options: Pick<RunOptions, "signal" | "onEvent">) => Promise<Report>): Promise<Report>;
}

export interface FleetWork {
  /** Throws what can be checked without the fleet. */
  check?: () => void | Promise<void>;
  /** Gives the exit code. */
  work: (session: Session) => Promise<number>;
  /** The exit code after an error. */
  failed?: number;
}

/** How a command that runs engines is stopped, for its help. */
export const STOPPING = `
Ctrl-C once: the engine finishes and stores its current steps, and the summary is printed. Ctrl-C again: it ends at once.
SIGTERM and SIGHUP do what the first Ctrl-C does. Progress is on stderr, the result on stdout.`;

/** Adds the options of {@link RunCommandOptions} to a command. */
export const addRunOptions = (command: Command): Command =>
  addOutputOptions(command)
    .option(
      "--stacks-at-once <n>",
      `how many stacks run at once (default ${DEFAULT_LIMITS.stacksAtOnce})`,
      parseCount,
    )
    .option(
      "--calls-per-origin <n>",
      `how many calls to one origin are in progress at once, over all stacks (default ${DEFAULT_LIMITS.callsPerOrigin})`,
      parseCount,
    )
    .option(
      "--stop-after-failures <n>",
      `begin no further stack after so many failures (default ${DEFAULT_LIMITS.stopAfterFailures})`,
      parseCount,
    )
    .option(
      "--shard <k/n>",
      "run one share of the stacks, such as 2/4: for several machines",
      parseShareOption,
    );

/** Adds the options of where a report goes. */
export const addOutputOptions = (command: Command): Command =>
  command
    .addOption(new Option("--markdown", "print Markdown in place of tables").conflicts("json"))
    .option("--json", "print the report as JSON")
    .option("--markdown-file <file>", "write the report as Markdown too")
    .option("--json-file <file>", "write the report as JSON too");

/** A number of things of which there is at least one. For commander, as the others here. */
export const parseCount = (text: string): number => parseWhole(text, 1);

export const parseCountOrNone = (text: string): number => parseWhole(text, 0);

function parseWhole(text: string, least: number): number {
  const number = Number(text);
  if (/^\d{1,9}$/.test(text) && number >= least) return number;
  throw new InvalidArgumentError(`It must be a whole number from ${least}.`);
}

function parseShareOption(text: string): string {
  if (parseShard(text) !== undefined) return text;
  throw new InvalidArgumentError("It must be a share such as 2/4.");
}

/** The given ones of some options, and the limits. */
export function pickOptions<O extends RunCommandOptions, K extends keyof O>(
  options: O,
  ...names: K[]
): Pick<O, K> & FleetLimits {
  const all = ["stacksAtOnce", "callsPerOrigin", "stopAfterFailures", "shard", ...names] as const;
  const given = all
    .filter((name) => options[name as K] !== undefined)
    .map((name) => [name, options[name as K]]);
  return Object.fromEntries(given) as Pick<O, K> & FleetLimits;
}

/** Throws unless somebody can be asked, or has agreed already. */
function requireConsent(command: string, isGiven = false): void {
  if (isGiven || (process.stdin.isTTY && process.stderr.isTTY)) return;
  throw new UsageError(
    `${command} asks before it changes anything, and there is no terminal to ask on; give --yes to run it without`,
  );
}

/** Throws if a report could not be written: that would come out when the run is over. */
export async function checkFolders({ markdownFile, jsonFile }: RunCommandOptions): Promise<void> {
  for (const [flag, file] of [
    ["--markdown-file", markdownFile] as const,
    ["--json-file", jsonFile] as const,
  ]) {
    if (file === undefined) continue;
    const folder = dirname(resolve(file));
    await access(folder, constants.W_OK).catch(() => {
      throw new UsageError(
        `${flag}: nothing can be written in the folder ${folder}; make it, or name another one`,
      );
    });
  }
}

/** The checks of a command that asks before it changes anything, unless it is agreed already. */
export async function checkBeforeAsking(
  command: string,
  options: RunCommandOptions,
  isAgreedAlready: boolean | undefined,
): Promise<void> {
  requireConsent(command, isAgreedAlready);
  await checkFolders(options);
}

/** Prints a report as the options say, and writes it into the files that they name. */
export async function printReport<Report>(
  report: Report,
  render: (report: Report, format: Format, options?: RenderOptions) => string,
  { options, session: { program } }: { options: RunCommandOptions; session: Session },
): Promise<void> {
  const { json, markdown, markdownFile, jsonFile } = options;
  const format = json ? "json" : markdown ? "markdown" : "text";
  print(render(report, format, { table: tableOptionsOf(process.stdout), program }));
  if (markdownFile !== undefined) await writeFile(markdownFile, render(report, "markdown", { program }));
  if (jsonFile !== undefined) await writeFile(jsonFile, render(report, "json"));
}

/** Asks on the terminal. Gives what is typed, which is nothing at the end of the input. Rejects when the signal fires. */
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

/** Asks for a yes. Everything else is a no. */
export const isAgreed = async (question: string, signal: AbortSignal): Promise<boolean> =>
  /^y(es)?$/i.test((await ask(`${question} (y/N) `, signal)).trim());

/** Opens the fleet, does the work of a command, and ends the process. */
export async function runOnFleet(source: FleetSource, work: FleetWork): Promise<void> {
  // A reader that has gone, as in `… | head`, does not end a run in its middle; neither does a terminal that was closed.
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
    await check?.();
    const fleet = await orAborted(open(), signal);
    const code = await work({
      fleet,
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
    return code === EXIT.failed ? (failed ?? code) : code;
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

/** `npm run` passes a Ctrl-C on that the terminal has sent already, so two of them this close are one. In milliseconds. */
const ONE_PRESS_MS = 300;

/** How a command learns that it is to end. */
interface Stop {
  /** Fires at the first Ctrl-C, SIGTERM or SIGHUP. */
  signal: AbortSignal;
  /** Whether engines run: a Ctrl-C then prints what it waits for. */
  isRunning: boolean;
}

/** Listens for signals. The first asks the run to end; a further Ctrl-C ends the process and its engines at once. */
function listenForStop(screen: LiveLine): Stop {
  const controller = new AbortController();
  const listening: Stop = { signal: controller.signal, isRunning: false };
  let stoppedAt = 0;
  const stop = (): void => {
    if (controller.signal.aborted) return;
    stoppedAt = Date.now();
    if (listening.isRunning) {
      screen.say(
        "stopping: the engine finishes its current steps; press again to end at once (a lock may stay)",
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

/** Ends the process when all that it printed is written: on some systems a pipe takes it later. */
export async function endProcess(code: number): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map(untilWritten));
  process.exit(code);
}

const untilWritten = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((done) => {
    if (stream.writableLength === 0) done();
    else stream.write("", () => done());
  });
