import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { ApiChatError, invalidFields } from "../errors/index.js";
import { makeFolders, readFileIfExists, writePrivateFile } from "../lib/files.js";
import { lockFile, type FileLock } from "../lib/sqlite.js";
import { jsonOrText } from "../lib/values.js";

/** The control interface is for this machine only. */
export const CONTROL_HOST = "127.0.0.1";

/** The header of every response of the control interface, even of rejections, that contains `instance`. */
export const INSTANCE_HEADER = "x-apichat-instance";

const instanceShape = z.object({
  /** Identifies this start: passed by the process that starts the responder, or generated. */
  instance: z.string(),
  pid: z.int(),
  /** Where the responder listens for the service. */
  host: z.string(),
  port: z.int(),
  /** The port of its control interface, on 127.0.0.1. */
  controlPort: z.int(),
  /** The secret that the control interface requires. */
  token: z.string(),
  /** Whether `instance` was passed by the process that started the responder, as `HandshakeResponder` does. */
  isManaged: z.boolean(),
});

/** What a running responder writes to its data folder, so that any process that can read the folder can control it. */
export interface Instance extends z.infer<typeof instanceShape> {}

const INSTANCE_FILE = "instance.json";
const LOCK_FILE = "lock.sqlite";

/** The file may outlive its responder, which is running only if its control interface accepts the token. */
export async function readInstance(dataDir: string): Promise<Instance | undefined> {
  const text = readFileIfExists(join(dataDir, INSTANCE_FILE)) ?? "";
  return (await instanceShape.safeParseAsync(jsonOrText(text))).data;
}

export const writeInstance = (dataDir: string, instance: Instance): Promise<void> =>
  writePrivateFile(join(dataDir, INSTANCE_FILE), `${JSON.stringify(instance, undefined, 2)}\n`);

/** How many milliseconds a start waits for the lock of a process that is about to end. */
const LOCK_WAIT_MS = 500;

/**
 * Locks a folder, and creates it if it is missing. The system releases the lock when the process ends, for whatever
 * reason. Throws `conflict` if another process holds the folder, `invalid_config` if nothing can be written to it.
 */
export async function takeDataDir(dataDir: string): Promise<FileLock> {
  makeDataDir(dataDir);
  const lock = openLock(dataDir, LOCK_WAIT_MS);
  if (lock === undefined) {
    const text = `dataDir ${dataDir} is in use by ${nameOf(await readInstance(dataDir))}`;
    throw new ApiChatError("conflict", text, { operation: "responder", hints: [{ id: "own_data_dir" }] });
  }
  // The process that this file announces is dead.
  await rm(join(dataDir, INSTANCE_FILE), { force: true });
  return lock;
}

export function isHeld(dataDir: string): boolean {
  if (!existsSync(join(dataDir, LOCK_FILE))) return false;
  const lock = openLock(dataDir, 0);
  lock?.release();
  return lock === undefined;
}

export const nameOf = (announced: Instance | undefined): string =>
  announced === undefined ? "another process" : `the responder of process ${announced.pid}`;

/** Creates the folder for its owner only; an existing one is not changed. Throws `invalid_config` on failure. */
export function makeDataDir(dataDir: string): void {
  try {
    makeFolders(dataDir);
  } catch (cause) {
    throw unusable("that can be created", dataDir, cause);
  }
}

function openLock(dataDir: string, waitMs: number): FileLock | undefined {
  try {
    return lockFile(join(dataDir, LOCK_FILE), waitMs);
  } catch (cause) {
    throw unusable("in which this user can create files", dataDir, cause);
  }
}

function unusable(wanted: string, dataDir: string, cause: unknown): ApiChatError {
  const reason = (cause as Error).message;
  const text = `must be a folder ${wanted}, got ${dataDir}: ${reason}; change the owner, or use a different folder`;
  return invalidFields([{ field: "dataDir", text }], { operation: "responder", cause });
}
