import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Credentials } from "../credentials.js";

/** What a check came to. Only `failed` makes the exit code 1. */
export type CheckStatus = "ok" | "warning" | "failed" | "skipped";

export interface Finding {
  status: CheckStatus;
  /** What was seen, in one line. */
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

export interface Check {
  name: string;
  /** Returns undefined if the check does not concern this program. */
  run: (surroundings: Surroundings) => Finding | undefined | Promise<Finding | undefined>;
}

export const ok = (text: string): Finding => ({ status: "ok", text });

export const warning = (text: string, hint: string): Finding => ({ status: "warning", text, hint });

export const failed = (text: string, hint: string): Finding => ({ status: "failed", text, hint });

export const skipped = (text: string): Finding => ({ status: "skipped", text });

/** The Pulumi program that a folder is in. */
export interface ProgramFolder {
  folder: string;
  /** Name of its project file. */
  file: string;
}

/** Finds Pulumi.yaml in a folder or above it, as pulumi does. */
export async function findProgram(folder: string): Promise<ProgramFolder | undefined> {
  const names = await readdir(folder);
  const file = ["Pulumi.yaml", "Pulumi.yml"].find((name) => names.includes(name));
  if (file !== undefined) return { folder, file };
  const above = dirname(folder);
  return above === folder ? undefined : findProgram(above);
}

/** The settings of its stacks: files such as Pulumi.dev.yaml. */
export async function listStackFiles({ folder, file }: ProgramFolder): Promise<string[]> {
  const names = await readdir(folder);
  return names
    .filter((name) => name !== file && /^Pulumi\..+\.ya?ml$/.test(name))
    .toSorted()
    .map((name) => join(folder, name));
}
