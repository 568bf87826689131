import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ApiChatError } from "../errors/index.js";
import { makeFolders } from "./folders.js";
import { writePrivateFile } from "./private-file.js";

/** What a running responder writes into its data folder, so that whoever may read that folder can speak to it. */
export interface Instance {
  /** Which start it is: given by whoever started it, else made at the start. */
  instance: string;
  pid: number;
  /** Where it listens for the service. */
  host: string;
  port: number;
  /** Where it listens for its control interface, on 127.0.0.1. */
  controlPort: number;
  /** Secret: what the control interface asks for. */
  token: string;
  /** When it started, in ISO 8601. */
  startedAt: string;
}

const INSTANCE_FILE = "instance.json";

/**
 * Makes the data folder, and those above it, for its owner only. A folder that is there stays as it is. Throws
 * `invalid_config` with how to fix it if that cannot be done.
 */
export async function makeDataDir(dataDir: string): Promise<void> {
  try {
    makeFolders(dataDir);
  } catch (cause) {
    const { code = "", path = dataDir, message } = cause as NodeJS.ErrnoException;
    const reason = REASONS[code]?.(path) ?? message;
    throw new ApiChatError(
      "invalid_config",
      `dataDir: must be a folder that can be made, got ${dataDir}: ${reason}`,
      { operation: "responder", cause },
    );
  }
}

const OTHER_FOLDER = 'give another folder, such as "/var/lib/apichat"';

const REASONS: Partial<Record<string, (path: string) => string>> = {
  ENOTDIR: (path) => `${path} is a file; ${OTHER_FOLDER}`,
  EEXIST: (path) => `${path} is a link to nowhere; remove it, or ${OTHER_FOLDER}`,
  ENOENT: (path) => `the file system there makes no folder ${path} (ENOENT); ${OTHER_FOLDER}`,
  EACCES: (path) => `this user may not make ${path} (EACCES); make it for this user, or ${OTHER_FOLDER}`,
  EPERM: (path) => `this user may not make ${path} (EPERM); make it for this user, or ${OTHER_FOLDER}`,
  EROFS: (path) => `${path} is on a file system that is read-only (EROFS); ${OTHER_FOLDER}`,
};

/**
 * Reads which responder runs on a data folder; undefined if none has announced itself. What is there may be stale: after
 * kill -9 the file stays. Only an answer to its token shows that it is alive.
 */
export async function readInstance(dataDir: string): Promise<Instance | undefined> {
  const text = await readFile(join(dataDir, INSTANCE_FILE), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
  return text === undefined ? undefined : parseInstance(text);
}

/** Announces a responder. */
export async function writeInstance(dataDir: string, instance: Instance): Promise<void> {
  await writePrivateFile(join(dataDir, INSTANCE_FILE), `${JSON.stringify(instance, undefined, 2)}\n`);
}

/** Takes the announcement away, also one that is not there. */
export async function removeInstance(dataDir: string): Promise<void> {
  await rm(join(dataDir, INSTANCE_FILE), { force: true });
}

function parseInstance(text: string): Instance | undefined {
  const value = parseJson(text);
  return isInstance(value) ? value : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Written by nobody of ours: then it names no responder.
    return undefined;
  }
}

function isInstance(value: unknown): value is Instance {
  if (typeof value !== "object" || value === null) return false;
  const { instance, pid, host, port, controlPort, token, startedAt } = value as Record<string, unknown>;
  const texts = [instance, host, token, startedAt];
  const numbers = [pid, port, controlPort];
  return (
    texts.every((text) => typeof text === "string") && numbers.every((number) => Number.isInteger(number))
  );
}
