import { open } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ApiChatError } from "../errors/index.js";
import { readInstance } from "./instance.js";

/** How long a start waits for a process that is just ending, in milliseconds. */
const WAIT_MS = 500;

/** The one hold on a data folder. */
export interface Lock {
  release(): void;
}

/**
 * Takes a data folder for this process alone, until it is released or the process ends, however it ends: the kernel drops
 * the lock. Throws `conflict` if another process has it, `invalid_config` if no file can be made in it.
 */
export async function lockDataDir(dataDir: string): Promise<Lock> {
  const file = join(dataDir, "lock.sqlite");
  await createPrivateFile(file).catch((cause: NodeJS.ErrnoException) => {
    throw notWritable(dataDir, cause);
  });
  const database = new DatabaseSync(file, { timeout: WAIT_MS });
  try {
    database.exec("BEGIN EXCLUSIVE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw error;
    throw await inUse(dataDir);
  }
}

/** Before SQLite would make it with the mode of the process. It is never opened twice: closing it would drop the lock. */
async function createPrivateFile(file: string): Promise<void> {
  try {
    const handle = await open(file, "wx", 0o600);
    await handle.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

const SQLITE_BUSY = 5;

const isBusy = (error: unknown): boolean => (error as { errcode?: number }).errcode === SQLITE_BUSY;

const notWritable = (dataDir: string, cause: NodeJS.ErrnoException): ApiChatError =>
  new ApiChatError(
    "invalid_config",
    `dataDir: must be a folder in which this user can make files, got ${dataDir} (${cause.code}); change its owner, or give another folder`,
    { operation: "responder", cause },
  );

async function inUse(dataDir: string): Promise<ApiChatError> {
  const other = await readInstance(dataDir);
  const owner = other === undefined ? "another responder" : `the responder of process ${other.pid}`;
  return new ApiChatError(
    "conflict",
    `dataDir ${dataDir} is in use by ${owner}; stop that one first, or give this one a dataDir of its own`,
    { operation: "responder" },
  );
}
