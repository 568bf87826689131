import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { StackTask } from "./engine/task.js";

/** What tells one run's digests apart from another's, and one program from another. */
export interface DigestSeed {
  /** Random, so that nobody can compare digests with those of values that he knows. */
  salt: string;
  /** The text of the program's module. */
  program: string;
}

/** Reads what the digests of a run's tasks depend on, beside the tasks. */
export async function readSeed(program: string, salt: string): Promise<DigestSeed> {
  return { salt, program: await readFile(new URL(program), "utf8") };
}

/**
 * Stands for all that a task is: its workspaces with their keys, its options and the program. If it is another one, a stack
 * that was done is not done any more.
 */
export function digestOf(task: StackTask, { salt, program }: DigestSeed): string {
  return createHmac("sha256", salt)
    .update(JSON.stringify([task, program]))
    .digest("base64url");
}
