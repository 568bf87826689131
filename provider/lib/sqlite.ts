import { accessSync, chmodSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { createPrivateFile, fileSize } from "./files.js";
import { VERSION } from "./version.js";

/**
 * Why a database operation failed. `full`: no space on the disk. `busy`: another process held the file too long.
 * `readonly`: the file cannot be written. `newer`, `older`: another release wrote it. `foreign`: another program
 * wrote it, or it is not a database. `closed`: it was already closed. `failed`: any other reason, such as a disk error.
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
  /** Marks the file as ours: four ASCII letters. */
  applicationId: string;
  /** The `user_version` that this release reads and writes. */
  version: number;
  tables: string;
  /** SQL that converts files of earlier releases, one version per step; the last step leads to `version`. */
  migrations: readonly string[];
  /** Run each time a file is opened. Must not write to a file that has tables, because the disk may be full. */
  pragmas: string;
  /** Run before `pragmas`, and only in a file without tables. */
  firstPragmas?: string;
  /** How long to wait for another process that holds the file, in milliseconds. The wait blocks the event loop. */
  lockTimeoutMs: number;
  /** Whether to create a missing file, and to convert the file of an earlier release. Default true. */
  create?: boolean;
}

/**
 * Creates a missing file (0600), and converts the file of an earlier release. A file from a killed process
 * needs no repair. Throws a SqliteError that names the path; a rejected file is not changed.
 */
export function openSqlite(path: string, options: SqliteOptions): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    if (options.create ?? true) createPrivateFile(path);
    else accessSync(path);
    if (fileSize(`${path}-wal`) > 0) {
      // A killed or running process has left a log. So the file is checked read-only first: closing a writable
      // connection would move the log into the file, even into one that is rejected.
      database = connect(path, options.lockTimeoutMs, true);
      checkFormat(database, options);
      database.close();
    }
    database = connect(path, options.lockTimeoutMs);
    if (isEmpty(database)) database.exec(options.firstPragmas ?? "");
    checkFormat(database, options);
    // Another program may have changed the mode. SQLite creates its two other files with this one's mode.
    chmodSync(path, 0o600);
    database.exec(options.pragmas);
    updateTables(database, options);
    return database;
  } catch (error) {
    if (database?.isOpen) database.close();
    const { code, message } = toSqliteError(error);
    throw new SqliteError(code, `${path}: ${message}`, error);
  }
}

export interface FileLock {
  release(): void;
}

/**
 * Locks a file exclusively until the lock is released or the process ends, for any reason. Returns undefined if
 * another process holds the lock. Throws the file system's error if the file cannot be created.
 */
export function lockFile(path: string, lockTimeoutMs: number): FileLock | undefined {
  createPrivateFile(path);
  const database = connect(path, lockTimeoutMs);
  try {
    // With its journal in memory, the lock needs no disk space, so a full disk does not prevent a start.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (toSqliteError(error).code === "busy") return undefined;
    throw error;
  }
}

/** Loads node:sqlite on first use, without the warning that Node 22 would print among errors and logs. */
function connect(path: string, timeout: number, readOnly = false): DatabaseSync {
  // oxlint-disable-next-line typescript/unbound-method -- it is restored unchanged
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    const { DatabaseSync: Database } = process.getBuiltinModule("node:sqlite");
    return new Database(path, { timeout, readOnly });
  } finally {
    process.emitWarning = emitWarning;
  }
}

const isEmpty = (database: DatabaseSync): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;

function checkFormat(database: DatabaseSync, options: SqliteOptions): void {
  if (isEmpty(database)) return;
  const { applicationId, version, migrations, create = true } = options;
  if (readPragma(database, "application_id") !== numberOf(applicationId)) {
    throw new SqliteError("foreign", "the file holds another program's tables");
  }
  const found = readPragma(database, "user_version");
  const versions = `the file has version ${found}, but pulumi-apichat ${VERSION} opens version ${version}`;
  if (found > version) {
    const needed = database.prepare("SELECT version FROM needed_release").get()?.version;
    throw new SqliteError("newer", `${versions}: install pulumi-apichat ${String(needed)} or newer`);
  }
  const isConvertible = found >= version - migrations.length;
  if (found === version || (isConvertible && create)) return;
  const how = isConvertible
    ? "the program that owns the file will convert it when it next starts"
    : "convert it first with an intermediate release";
  throw new SqliteError("older", `${versions}: ${how}`);
}

/** Each step sets its version in the same transaction, so after a kill the next start continues from there. */
function updateTables(database: DatabaseSync, options: SqliteOptions): void {
  const { applicationId, version, tables, migrations } = options;
  while (readPragma(database, "user_version") < version) {
    inTransaction(database, () => {
      // Another process may have converted it first.
      const found = readPragma(database, "user_version");
      if (found >= version) return;
      database.exec(found === 0 ? tables : (migrations.at(found - version) ?? ""));
      database.exec(`
        PRAGMA application_id = ${numberOf(applicationId)};
        PRAGMA user_version = ${found === 0 ? version : found + 1};
        CREATE TABLE IF NOT EXISTS needed_release (version TEXT NOT NULL) STRICT;
        DELETE FROM needed_release;
        INSERT INTO needed_release VALUES ('${VERSION}');
      `);
    });
  }
}

const numberOf = (letters: string): number => Buffer.from(letters).readInt32BE();

export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } finally {
    // A full disk ends the transaction by itself; any other failure leaves it open.
    if (database.isTransaction) database.exec("ROLLBACK");
  }
}

export function readPragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

const FULL = 13;

/** The primary result codes of SQLite (the low bytes of the extended ones) that need their own message. */
const KNOWN_FAILURES: Record<number, { code: SqliteErrorCode; message: string }> = {
  5: { code: "busy", message: "another process holds the file" },
  8: { code: "readonly", message: "the file cannot be written: change its owner or mode" },
  [FULL]: { code: "full", message: "the disk is full: free some space" },
  26: { code: "foreign", message: "the file is not a SQLite database" },
};

const DISK_FAILURE = 10;

/** Whether the disk has failed. It is then unknown which earlier writes the disk has kept. */
export const isDiskFailure = (error: SqliteError): boolean =>
  error.code === "failed" && (resultCodeOf(error.cause) & 0xff) === DISK_FAILURE;

const resultCodeOf = (error: unknown): number =>
  error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;

/** Converts an error of SQLite to one with a `code`; returns a SqliteError unchanged. */
export function toSqliteError(error: unknown): SqliteError {
  if (error instanceof SqliteError) return error;
  const extended = resultCodeOf(error);
  // SQLITE_IOERR_SHMSIZE: the log's index, which all connections share, does not fit on the disk.
  const primary = extended === 4874 ? FULL : extended & 0xff;
  const { code, message } = KNOWN_FAILURES[primary] ?? {
    code: "failed",
    message: error instanceof Error ? error.message : String(error),
  };
  return new SqliteError(code, message, error);
}
