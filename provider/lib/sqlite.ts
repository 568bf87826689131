import { accessSync, chmodSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { createPrivateFile } from "./files.js";

/**
 * Why a database operation failed. `full`: no room on the disk. `busy`: another process held the file for too long.
 * `readonly`: the file cannot be written. `newer` and `older`: another release has written it. `foreign`: it is another
 * program's, or not a database. `closed`: it was closed before. `failed`: anything else, such as an error of the disk.
 */
export type SqliteErrorCode =
  "full" | "busy" | "readonly" | "newer" | "older" | "foreign" | "closed" | "failed";

/** A database failure: the operation did not take effect. Check `code`, not the message. */
export class SqliteError extends Error {
  override readonly name = "SqliteError";
  readonly code: SqliteErrorCode;

  constructor(code: SqliteErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

export interface SqliteOptions {
  /** Marks the file as ours: four letters of ASCII. */
  applicationId: string;
  /** The `user_version` that this release reads and writes. Files with any other version are rejected. */
  version: number;
  /** Creates the tables of a new file. */
  tables: string;
  /** Run on each opening, before the tables are created. They must not write to a file that has tables: the disk may be full. */
  pragmas: string;
  /** Run before those, and only in a file without tables. */
  firstPragmas?: string;
  /** How long to wait for another process that holds the file, in milliseconds. The wait blocks the event loop. */
  lockTimeoutMs: number;
  /** Whether the file is for this process alone, until it is closed or the process ends, however it ends. Default false. */
  exclusive?: boolean;
  /** Whether a missing file is created. Default true. */
  create?: boolean;
}

/**
 * Opens a file of ours, and creates it (0600) if it is missing. The file of a killed process opens as it is. Throws a
 * SqliteError that names the path; a file that is not ours is unchanged then.
 */
export function openSqlite(path: string, options: SqliteOptions): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    if (options.create ?? true) createPrivateFile(path);
    else accessSync(path);
    database = connect(path, options.lockTimeoutMs);
    if (options.exclusive) database.exec("PRAGMA locking_mode = EXCLUSIVE");
    const isNew = database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;
    if (isNew) database.exec(options.firstPragmas ?? "");
    else checkFormat(database, options);
    // Another program may have changed it. SQLite gives its two other files the mode of this one.
    chmodSync(path, 0o600);
    database.exec(options.pragmas);
    createTables(database, options);
    return database;
  } catch (error) {
    database?.close();
    const { code, message } = toSqliteError(error);
    throw new SqliteError(code, `${path}: ${message}`, error);
  }
}

/** A lock that one process holds. The kernel releases it when that process ends. */
export interface FileLock {
  release(): void;
}

/**
 * Takes an exclusive lock on a file until it is released or the process ends for any reason. Returns undefined if
 * another process holds it. Throws an error of the file system if the file cannot be created.
 */
export function lockFile(path: string, lockTimeoutMs: number): FileLock | undefined {
  createPrivateFile(path);
  const database = connect(path, lockTimeoutMs);
  try {
    // Without a journal it needs no space, so a full disk does not prevent a start.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (toSqliteError(error).code === "busy") return undefined;
    throw error;
  }
}

/**
 * Loads node:sqlite on first use and suppresses the warning that Node 22 prints, which would appear among errors and
 * logs.
 */
function connect(path: string, timeout: number): DatabaseSync {
  // oxlint-disable-next-line typescript/unbound-method -- it is restored unchanged
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    const { DatabaseSync: Database } = process.getBuiltinModule("node:sqlite");
    return new Database(path, { timeout });
  } finally {
    process.emitWarning = emitWarning;
  }
}

function checkFormat(database: DatabaseSync, { applicationId, version }: SqliteOptions): void {
  const found = readPragma(database, "user_version");
  if (readPragma(database, "application_id") !== numberOf(applicationId)) {
    throw new SqliteError("foreign", "the file holds another program's tables");
  }
  if (found === version) return;
  const code = found > version ? "newer" : "older";
  throw new SqliteError(
    code,
    `the file has version ${found}, this release reads version ${version}: use the release that wrote it`,
  );
}

function createTables(database: DatabaseSync, { applicationId, version, tables }: SqliteOptions): void {
  if (readPragma(database, "user_version") === version) return;
  inTransaction(database, () => {
    // Another process may have been first.
    if (readPragma(database, "user_version") === version) return;
    database.exec(tables);
    database.exec(`PRAGMA application_id = ${numberOf(applicationId)}; PRAGMA user_version = ${version}`);
  });
}

const numberOf = (letters: string): number => Buffer.from(letters).readInt32BE();

/** Runs `work` in a transaction, which is rolled back if it throws or cannot be committed. */
export function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    work();
    database.exec("COMMIT");
  } finally {
    // A full disk ends the transaction by itself; any other failure leaves it open.
    if (database.isTransaction) database.exec("ROLLBACK");
  }
}

/** Reads a numeric setting of SQLite. */
export function readPragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

const FULL = 13;

/** SQLite's primary result codes, the low bytes of the extended ones, that mean something to us. */
const KNOWN_FAILURES: Record<number, { code: SqliteErrorCode; message: string }> = {
  5: { code: "busy", message: "another process holds the file" },
  8: { code: "readonly", message: "the file cannot be written: change its owner or mode" },
  [FULL]: { code: "full", message: "the disk is full: make room" },
  26: { code: "foreign", message: "the file is not a SQLite database" },
};

/** Converts an error of SQLite to one with a `code`; returns a SqliteError unchanged. */
export function toSqliteError(error: unknown): SqliteError {
  if (error instanceof SqliteError) return error;
  const extended = error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;
  // SQLITE_IOERR_SHMSIZE: the index of the log, which all connections share, does not fit on the disk.
  const primary = extended === 4874 ? FULL : extended & 0xff;
  const { code, message } = KNOWN_FAILURES[primary] ?? {
    code: "failed",
    message: error instanceof Error ? error.message : String(error),
  };
  return new SqliteError(code, message, error);
}
