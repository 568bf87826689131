import { chmodSync, closeSync, openSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { invalidOption } from "../check-options.js";

/** The version that this release reads and writes; it stands in the file as `user_version`. */
const STORE_VERSION = 1;

/** Marks a SQLite file as the data of an emulator: "apie" in ASCII. */
const APPLICATION_ID = 0x61706965;

/** How long a start waits for an emulator that is just ending, in milliseconds. */
const LOCK_TIMEOUT_MS = 500;

/** `ord` counts all records of one emulator; `scope` is whose list a record is in. */
const SCHEMA = `
  CREATE TABLE records (
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    ord INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (kind, scope, ord)
  ) STRICT;
`;

/**
 * Opens the file for this emulator alone, until it is closed or the process ends, however it ends; makes it (0600) if it is
 * missing. Throws `invalid_config` naming the file if it is another's, of another release, or in use; then it is as it was.
 */
export function openStoreFile(path: string): DatabaseSync {
  const whole = resolve(path);
  let database: DatabaseSync | undefined;
  try {
    createPrivateFile(whole);
    database = new DatabaseSync(whole, { timeout: LOCK_TIMEOUT_MS });
    takeAlone(database);
    // Keys are in it. SQLite gives the log beside it the same mode.
    chmodSync(whole, 0o600);
    prepare(database);
    return database;
  } catch (error) {
    database?.close();
    throw invalidOption(`data: ${path}: ${describe(error)}`, error);
  }
}

/** An existing file is not opened: closing it would drop the lock that another emulator of this process has on it. */
function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

class WrongFile extends Error {}

function takeAlone(database: DatabaseSync): void {
  database.exec("PRAGMA locking_mode = EXCLUSIVE");
  const version = readPragma(database, "user_version");
  const isNew = database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;
  if (!isNew && readPragma(database, "application_id") !== APPLICATION_ID) {
    throw new WrongFile("holds another program's tables; give a file of its own");
  }
  if (!isNew && version !== STORE_VERSION) {
    throw new WrongFile(
      `has version ${version}, this release reads version ${STORE_VERSION}; use the release that wrote it, or another file`,
    );
  }
}

/** NORMAL: what a process has written is safe from its death, if not from that of the machine. */
function prepare(database: DatabaseSync): void {
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE");
  if (readPragma(database, "user_version") !== STORE_VERSION) {
    database.exec(SCHEMA);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${STORE_VERSION}`);
  }
  database.exec("COMMIT");
}

function readPragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

/** SQLite's primary result codes that mean something to us. */
const KNOWN_FAILURES: Record<number, string> = {
  5: "another emulator has it open; stop that one, or give this one a file of its own",
  8: "cannot be written; change its owner or mode",
  13: "the disk is full; make room for it",
  26: "is not a file of an emulator; give a file of its own",
};

function describe(error: unknown): string {
  if (error instanceof WrongFile) return error.message;
  if (!(error instanceof Error)) return String(error);
  const primaryCode = "errcode" in error ? Number(error.errcode) & 0xff : 0;
  if ("syscall" in error && "code" in error) {
    return `cannot be opened (${String(error.code)}); give a file in a folder in which this user can write`;
  }
  return KNOWN_FAILURES[primaryCode] ?? error.message;
}
