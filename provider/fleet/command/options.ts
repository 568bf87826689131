import { InvalidArgumentError, type Command } from "commander";
import { DEFAULT_LIMITS, type FleetLimits } from "../limits.js";

/** Where a result goes. */
export interface OutputOptions {
  json?: boolean;
  /** Prints Markdown in place of a table. */
  markdown?: boolean;
  jsonFile?: string;
  markdownFile?: string;
}

export interface RunCommandOptions extends OutputOptions, FleetLimits {}

export interface PlanCommandOptions extends RunCommandOptions {
  refresh?: boolean;
  mostRemovals?: number;
}

export interface UpCommandOptions extends PlanCommandOptions {
  resume?: boolean;
  skipPlan?: boolean;
  yes?: boolean;
}

export interface RotateCommandOptions extends RunCommandOptions {
  rotation?: string;
  waveSize?: number;
  resume?: boolean;
  yes?: boolean;
}

export interface DestroyCommandOptions extends RunCommandOptions {
  yes?: boolean;
}

export interface BotUrlsCommandOptions {
  json?: boolean;
  env?: boolean;
}

export const addLimitOptions = (command: Command): Command =>
  command
    .option(
      "--stacks-at-once <n>",
      `how many stacks are under way at once (default ${DEFAULT_LIMITS.stacksAtOnce})`,
      parseCount,
    )
    .option(
      "--calls-per-origin <n>",
      `how many calls to one origin are under way at once (default ${DEFAULT_LIMITS.callsPerOrigin})`,
      parseCount,
    )
    .option(
      "--most-429 <n>",
      `stop after so many answers with HTTP 429 (default ${DEFAULT_LIMITS.most429})`,
      parseCount,
    )
    .option(
      "--stop-after-failures <n>",
      `begin no further stack after so many failures (default ${DEFAULT_LIMITS.stopAfterFailures})`,
      parseCount,
    );

export const addFileOptions = (command: Command): Command =>
  command
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

/** The limits that a command line gives; the others are left to their defaults. */
export const limitsOf = ({
  stacksAtOnce,
  callsPerOrigin,
  most429,
  stopAfterFailures,
}: FleetLimits): FleetLimits => given({ stacksAtOnce, callsPerOrigin, most429, stopAfterFailures });

/** Without what is not given. */
export const given = <T extends object>(options: T): T =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
