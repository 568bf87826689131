import { access, constants, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { InvalidArgumentError, Option, type Command } from "commander";
import type { Fleet } from "../../fleet/fleet.js";
import { DEFAULT_LIMITS, parseShard, type FleetLimits } from "../../fleet/options.js";
import { ENDINGS, EXIT, print as printText } from "../output.js";
import { tableOptionsOf } from "../table.js";
import { UsageError } from "../usage-error.js";
import type { Format, RenderOptions } from "./document.js";
import { runOnFleet, type FleetSource, type Session } from "./session.js";

/** A session with the open fleet. */
export interface FleetSession extends Session {
  fleet: Fleet;
}

/** What a command of a fleet does, and its help. */
interface CommandSpec<Options, S = FleetSession> {
  /** Its help before the examples. */
  about?: string;
  /** Without the name of the command line. */
  examples: readonly string[];
  /** The end of its help. Default: the exit codes of most commands. */
  endings?: string;
  /** Checks what does not need the fleet, and throws. */
  check?: (options: Options) => void | Promise<void>;
  /** Returns the exit code. */
  work: (session: S, options: Options) => Promise<number>;
  /** The exit code after an error. Default 1. */
  failed?: number;
}

/** Adds help and action to a command that prints its own output, with the fleet open. */
export const fleetCommand = <Options>(
  source: FleetSource,
  command: Command,
  { work, ...given }: CommandSpec<Options>,
): Command =>
  sessionCommand<Options>(source, command, {
    ...given,
    work: async (session, options) => work({ ...session, fleet: await session.open() }, options),
  });

const sessionCommand = <Options>(
  source: FleetSource,
  command: Command,
  given: CommandSpec<Options, Session>,
): Command =>
  command.addHelpText("after", helpOf(source.name, given)).action(() => {
    const options = command.opts<object>() as Options;
    const { check, work, failed = EXIT.failed } = given;
    return runOnFleet(source, {
      check: () => check?.(options),
      work: (session) => work(session, options),
      failed,
    });
  });

function helpOf(
  name: string,
  {
    about = "",
    examples,
    endings = ENDINGS,
  }: Pick<CommandSpec<unknown, unknown>, "about" | "examples" | "endings">,
): string {
  const lines = examples.map((example) => `  $ ${name} ${example}\n`);
  return `${about === "" ? "" : `\n${about}\n`}\nExamples:\n${lines.join("")}${endings}`;
}

/** Where a report goes. */
interface OutputOptions {
  json?: boolean;
  /** Prints Markdown in place of a table. */
  markdown?: boolean;
  jsonFile?: string;
  markdownFile?: string;
}

/** The options of every command that runs stacks. */
export interface RunCommandOptions extends FleetLimits, OutputOptions {
  yes?: boolean;
}

type Render<Report> = (report: Report, format: Format, options?: RenderOptions) => string;

/** What a session has for commands with a report. */
interface WithReports {
  /** Prints a report as the options say, and writes it to the files that they name. Returns the exit code. */
  print: <Report extends { outcome: string }>(report: Report, render: Render<Report>) => Promise<number>;
}

/** A session with the open fleet, for commands with a report. */
export type ReportSession = FleetSession & WithReports;

type ReportCommandSpec<Options, S = ReportSession> = Omit<CommandSpec<Options, S>, "check"> & {
  /** For a command that asks before it changes anything: whether --yes or the like was given. */
  isAgreed?: (options: Options) => boolean | undefined;
};

/** Adds options, help and action to a command that ends with a report, and opens the fleet itself or not at all. */
export function closedReportCommand<Options extends OutputOptions>(
  source: FleetSource,
  command: Command,
  { isAgreed, work, ...given }: ReportCommandSpec<Options, Session & WithReports>,
): Command {
  command
    .addOption(new Option("--markdown", "print Markdown in place of tables").conflicts("json"))
    .option("--json", "print the report as JSON")
    .option("--markdown-file <file>", "write the report as Markdown too")
    .option("--json-file <file>", "write the report as JSON too");
  return sessionCommand<Options>(source, command, {
    ...given,
    check: (options) => {
      if (isAgreed) requireConsent(command.name(), isAgreed(options));
      return checkFolders(options);
    },
    work: (session, options) => {
      const print: WithReports["print"] = async (report, render) => {
        await printReport(report, render, { options, program: session.program });
        return ["done", "no-drift"].includes(report.outcome) ? EXIT.done : EXIT.failed;
      };
      return work({ ...session, print }, options);
    },
  });
}

const STOPPING = `
Ctrl-C once: the engine finishes and stores its current steps, and the summary is printed. Ctrl-C again: it ends at once.
SIGTERM and SIGHUP do what the first Ctrl-C does. Progress is on stderr, the result on stdout.`;

/** Adds options, help and action to a command that runs stacks. */
export function runCommand<Options extends RunCommandOptions>(
  source: FleetSource,
  command: Command,
  { about = "", work, ...given }: ReportCommandSpec<Options>,
): Command {
  const { stacksAtOnce, callsPerOrigin, stopAfterFailures } = DEFAULT_LIMITS;
  command
    .option("--stacks-at-once <n>", `how many stacks run at once (default ${stacksAtOnce})`, parseCount)
    .option(
      "--calls-per-origin <n>",
      `how many calls to one origin are in progress at once, over all stacks: the sum of their --parallel (default ${callsPerOrigin})`,
      parseCount,
    )
    .option(
      "--stop-after-failures <n>",
      `start no more stacks after this many failures (default ${stopAfterFailures})`,
      parseCount,
    )
    .option(
      "--shard <k/n>",
      "run one shard of the stacks, such as 2/4, on one of several machines",
      parseShardOption,
    );
  return closedReportCommand<Options>(source, command, {
    ...given,
    about: about + STOPPING,
    work: async (session, options) => work({ ...session, fleet: await session.open() }, options),
  });
}

/** Parses a number of at least 1, for commander. */
export const parseCount = (text: string): number => parseWhole(text, 1);

export const parseCountOrNone = (text: string): number => parseWhole(text, 0);

function parseWhole(text: string, least: number): number {
  const number = Number(text);
  if (/^\d{1,9}$/.test(text) && number >= least) return number;
  throw new InvalidArgumentError(`It must be a whole number from ${least}.`);
}

function parseShardOption(text: string): string {
  if (parseShard(text) !== undefined) return text;
  throw new InvalidArgumentError("It must be a shard such as 2/4.");
}

/** Returns the given ones of some options, and the limits. */
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

/** Throws unless there is a terminal to ask on, or consent was given. */
function requireConsent(command: string, isGiven = false): void {
  if (isGiven || (process.stdin.isTTY && process.stderr.isTTY)) return;
  throw new UsageError(`${command} asks for confirmation, but there is no terminal; pass --yes to skip it`);
}

/** Throws if a report could not be written, before the run instead of after it. */
async function checkFolders({ markdownFile, jsonFile }: OutputOptions): Promise<void> {
  for (const [flag, file] of Object.entries({ "--markdown-file": markdownFile, "--json-file": jsonFile })) {
    if (file === undefined) continue;
    const folder = dirname(resolve(file));
    await access(folder, constants.W_OK).catch(() => {
      throw new UsageError(
        `${flag}: nothing can be written in the folder ${folder}; create it, or name another one`,
      );
    });
  }
}

async function printReport<Report>(
  report: Report,
  render: Render<Report>,
  { options, program }: { options: OutputOptions; program: string },
): Promise<void> {
  const { json, markdown, markdownFile, jsonFile } = options;
  const format = json ? "json" : markdown ? "markdown" : "text";
  printText(render(report, format, { table: tableOptionsOf(process.stdout), program }));
  if (markdownFile !== undefined) await writeFile(markdownFile, render(report, "markdown", { program }));
  if (jsonFile !== undefined) await writeFile(jsonFile, render(report, "json"));
}
