import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { ApiChatError } from "../errors/index.js";
import { hasErrorCode, makeDataDir, writePrivateFile } from "../lib/files.js";
import { lockFile } from "../lib/sqlite.js";

const instanceShape = z.object({
  /** Identifies this start: passed by the starter, or generated. */
  instance: z.string(),
  pid: z.int(),
  /** Where it listens for the service. */
  host: z.string(),
  port: z.int(),
  /** Where it listens for its control interface, on 127.0.0.1. */
  controlPort: z.int(),
  /** Secret: what the control interface asks for. */
  token: z.string(),
  /** When it started, in ISO 8601. */
  startedAt: z.string(),
});

/** What a running responder writes to its data folder, so that any process that can read the folder can control it. */
export interface Instance extends z.infer<typeof instanceShape> {}

const INSTANCE_FILE = "instance.json";

/**
 * Reads which responder runs on a data folder; undefined if none has announced itself. What is there may be stale: after
 * kill -9 the file stays. Only an answer to its token shows that it is alive.
 */
export async function readInstance(dataDir: string): Promise<Instance | undefined> {
  try {
    return instanceShape.parse(JSON.parse(await readFile(join(dataDir, INSTANCE_FILE), "utf8")));
  } catch (error) {
    // Not written by us: then it names no responder.
    const isForeign = error instanceof SyntaxError || error instanceof z.ZodError;
    if (isForeign || hasErrorCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

/** Announces a responder. */
export const writeInstance = (dataDir: string, instance: Instance): Promise<void> =>
  writePrivateFile(join(dataDir, INSTANCE_FILE), `${JSON.stringify(instance, undefined, 2)}\n`);

const removeInstance = (dataDir: string): Promise<void> => rm(join(dataDir, INSTANCE_FILE), { force: true });

/** How long a start waits for a process that is just ending, in milliseconds. */
const LOCK_WAIT_MS = 500;

/** A data folder that this process has for itself. */
export interface TakenDataDir {
  /** Removes the announcement and lets another responder have the folder. */
  release(): Promise<void>;
}

/**
 * Locks a data folder for this process, and creates it if it is missing. Throws `conflict` if another process holds it,
 * `invalid_config` if it cannot be made, or no file in it.
 */
export async function takeDataDir(dataDir: string): Promise<TakenDataDir> {
  makeDataDir(dataDir);
  const lock = openLock(dataDir);
  if (lock === undefined) throw await inUse(dataDir);
  // The process announced there is dead.
  await removeInstance(dataDir);
  return {
    release: async () => {
      // Release the lock right after: a caller that waited for this may now start another responder on the folder.
      await removeInstance(dataDir);
      lock.release();
    },
  };
}

function openLock(dataDir: string): ReturnType<typeof lockFile> {
  try {
    return lockFile(join(dataDir, "lock.sqlite"), LOCK_WAIT_MS);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const text = `must be a folder in which this user can make files, got ${dataDir} (${code ?? message}); change its owner, or give another folder`;
    throw new ApiChatError("invalid_config", "", {
      operation: "responder",
      problems: [{ field: "dataDir", text }],
      cause,
    });
  }
}

async function inUse(dataDir: string): Promise<ApiChatError> {
  const other = await readInstance(dataDir);
  const owner = other === undefined ? "another responder" : `the responder of process ${other.pid}`;
  return new ApiChatError("conflict", `dataDir ${dataDir} is in use by ${owner}`, {
    operation: "responder",
    hints: [{ id: "own_data_dir" }],
  });
}
