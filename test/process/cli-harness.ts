import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { findSecrets } from "../support/secrets.ts";
import {
  makeFolder,
  runHere,
  startProgram,
  type HereOptions,
  type ProgramOptions,
  type Said,
} from "./program.ts";

export { API_KEY, VERIFICATION_KEY };

/** A secret that the tests put into the queries of URLs. */
export const QUERY_SECRET = "query-token-0123456789";

/** The returned function writes a file (mode 0600) to a temporary folder, and returns the file's path. */
export async function makeWriter() {
  const folder = await makeFolder();
  return async (name: string, content: string, mode = 0o600): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, content, { mode });
    return path;
  };
}

export interface CliOptions extends HereOptions {
  /** Secrets that the command may print. */
  shows?: readonly string[];
}

/**
 * The output of a run, and what scripts parse from it: stdout as JSON, and the error that --json prints at
 * the end of stderr.
 */
export interface CliRun extends Said {
  json: unknown;
  error: { code: string; message: string } | undefined;
}

/** Runs the command line in this process. Fails if its output contains a secret that is not in `shows`. */
export async function runCli(
  parameters: readonly string[],
  { shows, ...options }: CliOptions = {},
): Promise<CliRun> {
  return readRun(await runHere(parameters, options), shows);
}

/** Runs the program in its own process, for tests that need one. */
export async function runCliProcess(
  parameters: readonly string[],
  { environment, ...options }: ProgramOptions = {},
): Promise<CliRun> {
  const program = startProgram(parameters, { environment: { NO_COLOR: "1", ...environment }, ...options });
  return readRun(await program.ended);
}

function readRun(said: Said, shows: readonly string[] = []): CliRun {
  const secrets = [API_KEY, VERIFICATION_KEY, QUERY_SECRET].filter((secret) => !shows.includes(secret));
  expect(findSecrets(said.stdout + said.stderr, secrets)).toEqual([]);
  const last = parse(said.stderr.trimEnd().split("\n").at(-1)) as Pick<CliRun, "error"> | undefined;
  return { ...said, json: parse(said.stdout), error: last?.error };
}

function parse(text = ""): unknown {
  return /^[[{]/.test(text) ? (JSON.parse(text) as unknown) : undefined;
}

/** Matches a run that ended with a usage error before it did anything. */
export const usageError = (message: RegExp | string, code = "usage"): object => ({
  exitCode: 2,
  stdout: "",
  error: { code, message: expect.stringMatching(message) },
});

/** Starts the program and reads its stdout while it runs. */
export function startLive(parameters: readonly string[], options?: ProgramOptions) {
  const { child, ended } = startProgram(parameters, options);
  let stdout = "";
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString("utf8")));
  const until = async <T>(find: () => T | null | undefined): Promise<T> => {
    let isEnded = false;
    void ended.then(() => (isEnded = true));
    await expect.poll(() => isEnded || find(), { timeout: 30_000, interval: 10 }).toBeTruthy();
    const found = find();
    if (!found) throw new Error(`the program has ended: ${JSON.stringify(await ended)}`);
    return found;
  };
  return {
    /** Waits for the first line of NDJSON that matches. */
    waitForJson: <T>(fits: (line: Record<string, unknown>) => boolean) =>
      until(() => readJsonLines(stdout).find(fits) as T | undefined),
    /** Waits until stdout matches. */
    waitFor: (pattern: RegExp) => until(() => pattern.exec(stdout)),
    end: (signal: NodeJS.Signals = "SIGINT") => {
      child.kill(signal);
      return ended;
    },
  };
}

/** Parses each complete line. */
export const readJsonLines = (text: string): Record<string, unknown>[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** A module for `node --import` that writes the name of each loaded package to stderr. */
export const LIST_PACKAGES = `
import { writeSync } from "node:fs";
import { registerHooks } from "node:module";
registerHooks({
  load(url, context, next) {
    const [, name] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url) ?? [];
    if (name !== undefined) writeSync(2, name + "\\n");
    return next(url, context);
  },
});
`;
