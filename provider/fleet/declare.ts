import { readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Declared, FleetProgram, FleetStack } from "./definition.js";

/** Names the file with the {@link ProgramFile} of a run. */
export const PROGRAM_FILE_VARIABLE = "APICHAT_FLEET_PROGRAM";

/** What a program is run for. */
export interface ProgramRun {
  /** URL of its module. */
  program: string;
  stack: FleetStack;
  /**
   * Without checkpoints, a killed run would lose a random key, so the run stops before creating one and starts over with
   * checkpoints.
   */
  refuseRandomKeys: boolean;
}

/**
 * The input of a program's process, in a file that only its owner can read. It may contain API keys, so it is deleted once read.
 */
export type ProgramFile =
  | ProgramRun
  /** The index stack has no resources: its outputs are all there is. */
  | { outputs: Record<string, unknown> };

/** What is wrong with a program of a user, in a sentence that needs no stack. */
export class ProgramError extends Error {}

/** How many workspaces a failure lists by name. */
const NAMED = 5;

export function readProgramFile(): ProgramFile {
  const path = process.env[PROGRAM_FILE_VARIABLE] ?? "";
  const file = JSON.parse(readFileSync(path, "utf8")) as ProgramFile;
  rmSync(path);
  return file;
}

/** Calls the user's program in its folder. Throws a {@link ProgramError} if it leaves out a workspace, before anything is removed. */
export async function declareStack({ program, stack }: ProgramRun): Promise<Record<string, Declared>> {
  process.chdir(dirname(fileURLToPath(program)));
  const declare = await loadProgram(program);
  // A program in JavaScript may give nothing.
  const declared = (await declare(stack)) ?? {};
  requireAll(stack, declared);
  return declared;
}

async function loadProgram(url: string): Promise<FleetProgram> {
  const module = (await import(url)) as { default?: unknown };
  if (typeof module.default === "function") return module.default as FleetProgram;
  throw new ProgramError(
    `the program ${url} has no function as its default export: write "export default function program(stack) { … }"`,
  );
}

function requireAll({ workspaces }: FleetStack, declared: Record<string, Declared | undefined>): void {
  const missing = workspaces.map(({ name }) => name).filter((name) => !isComplete(declared[name]));
  if (missing.length === 0) return;
  const more = missing.length > NAMED ? ` and ${missing.length - NAMED} more` : "";
  throw new ProgramError(
    `the program returns no webhook for ${missing.slice(0, NAMED).join(", ")}${more}: return one for each workspace of the stack, keyed by its name`,
  );
}

function isComplete(declared: Declared | undefined): boolean {
  if (declared === undefined) return false;
  return isResource(declared) ? declared.status !== undefined : declared.webhookVerificationKey !== undefined;
}

/** Whether a program has made the resource itself. */
export const isResource = (declared: Declared): declared is Extract<Declared, { botUrl: unknown }> =>
  "botUrl" in declared && declared.botUrl !== undefined;
