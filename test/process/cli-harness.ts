import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { afterTests } from "../support/http.ts";
import { findSecrets } from "../support/secrets.ts";
import { startProgram, type Said } from "./program.ts";

export { API_KEY, VERIFICATION_KEY };

/** A folder that is gone after the tests; writes a file for its owner only, and gives its path. */
export async function makeFolder(): Promise<
  (name: string, content: string, mode?: number) => Promise<string>
> {
  const folder = await mkdtemp(join(tmpdir(), "apichat-cli-"));
  afterTests(() => rm(folder, { recursive: true, force: true }));
  return async (name, content, mode = 0o600) => {
    const path = join(folder, name);
    await writeFile(path, content, { mode });
    return path;
  };
}

export interface CliOptions {
  environment?: Record<string, string>;
  stdin?: string;
  /** Secrets that the command is meant to print. */
  shows?: string[];
}

/** Runs the program to its end, and looks for the tests' secrets in all that it said. */
export async function runCli(
  parameters: readonly string[],
  { environment = {}, stdin, shows = [] }: CliOptions = {},
): Promise<Said> {
  const said = await startProgram(parameters, {
    environment: { NO_COLOR: "1", ...environment },
    ...(stdin === undefined ? {} : { stdin }),
  }).ended;
  const secrets = [API_KEY, VERIFICATION_KEY, QUERY_SECRET].filter((secret) => !shows.includes(secret));
  expect(findSecrets(said.stdout + said.stderr, secrets)).toEqual([]);
  return said;
}

/** Stands in the queries of URLs. */
export const QUERY_SECRET = "query-token-0123456789";

/** The error that --json puts on the last line of stderr. */
export function errorOf({ stderr }: Said): { code: string; message: string } {
  const last = stderr.trimEnd().split("\n").at(-1) ?? "";
  return (JSON.parse(last) as { error: { code: string; message: string } }).error;
}
