import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Registration } from "../../client/registration-client.js";
import type { Credentials } from "../credentials.js";

/** The result of a check. Only `failed` makes the exit code 1. */
type CheckStatus = "ok" | "warning" | "failed" | "skipped";

export interface Finding {
  status: CheckStatus;
  /** What was found, in one line. */
  text: string;
  /** How to fix it, in one line. */
  hint?: string;
}

/** What the checks inspect. */
export interface Surroundings {
  /** The current folder: an absolute path. */
  folder: string;
  environment: NodeJS.ProcessEnv;
  credentials: Credentials;
  webhookUrl: string | undefined;
  /** Time limit of one call or process, in milliseconds. */
  limitMs: number;
  /** Fires at Ctrl-C. */
  signal: AbortSignal;
}

/** A Pulumi program, as its Pulumi.yaml describes it. */
export interface Project {
  name: string;
  /** The path of Pulumi.yaml. */
  path: string;
  /** The folder of Pulumi.yaml. */
  root: string;
  /** The working directory of the program, from `main`. Packages and tsconfig.json are looked up there. */
  folder: string;
  /** The file that `main` names. */
  mainFile: string | undefined;
  runtime: string;
  options: Record<string, unknown>;
  /** Whether it uses the resource plugin: every program except one of Node.js that does not name it. */
  isOnPlugin: boolean;
  /** The plugin as Pulumi.yaml names it. */
  plugin: unknown;
}

/** The settings of this provider in one stack, or in Pulumi.yaml for all of them. */
export interface StackSettings {
  /** Such as "stack dev", or "Pulumi.yaml". */
  place: string;
  baseUrl: string | undefined;
  hasApiKey: boolean;
  /** The API key is in the file unencrypted. */
  isKeyUnencrypted: boolean;
}

/** What several checks need, read once. A promise rejects in each check that awaits it. */
export interface Facts extends Surroundings {
  /** The path of Pulumi.yaml; undefined if there is none here or above. */
  projectFile: string | undefined;
  project: Promise<Project | undefined>;
  /** The settings in Pulumi.yaml, and those of each stack. */
  stacks: Promise<StackSettings[]>;
  /** The base URL of the options and the environment, else of the stacks if they agree. */
  baseUrl: Promise<string | undefined>;
  /** Undefined if nothing is registered, or if base URL or API key are not known. */
  registration: Promise<Registration | undefined>;
}

/** Returns undefined if the check does not concern this program. */
export type Check = (facts: Facts) => Finding | undefined | Promise<Finding | undefined>;

export const ok = (text: string): Finding => ({ status: "ok", text });

export const warning = (text: string, hint: string): Finding => ({ status: "warning", text, hint });

export const failed = (text: string, hint: string): Finding => ({ status: "failed", text, hint });

export const skipped = (text: string): Finding => ({ status: "skipped", text });

const run = promisify(execFile);

/** Runs a process. Returns what it prints, or the code of its failure. Throws only after Ctrl-C. */
export async function execute(
  file: string,
  parameters: readonly string[],
  { environment: env, limitMs, signal, cwd }: Facts & { cwd?: string },
): Promise<{ stdout: string } | { code: string }> {
  try {
    return await run(file, parameters, { env, timeout: limitMs, signal, ...(cwd && { cwd }) });
  } catch (error) {
    if (signal.aborted) throw error;
    const { code, killed } = error as { code?: string | number; killed?: boolean };
    return { code: killed ? `no response in ${limitMs / 1000} s` : String(code) };
  }
}
