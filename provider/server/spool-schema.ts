import { DatabaseSync } from "node:sqlite";
import { inTransaction } from "./shared-commits.js";
import { SpoolError } from "./spool-error.js";

/** The version that this release reads and writes; it stands in the file as `user_version`. */
const SPOOL_VERSION = 1;

/** Marks a SQLite file as a spool: "apic" in ASCII. */
const APPLICATION_ID = 0x61706963;

/** How long a write waits for another process that holds the file, in milliseconds. It blocks the event loop. */
export const LOCK_TIMEOUT_MS = 5_000;

/** Where the pages in the log are moved into the file, about 8 MiB; the log is cut back to it. */
const LOG_PAGES = 2_000;
const PAGE_BYTES = 4_096;

/**
 * `position` is the order of acceptance. `due_ms` stands only in the first delivery of each conversation, and in each
 * one without a conversation: those are all that may be forwarded, so the rest costs nothing however long it is.
 * `age_from_ms` moves on by time in which nothing was tried.
 * Times are in milliseconds since 1970.
 */
const SCHEMA = `
  CREATE TABLE deliveries (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    workspace TEXT NOT NULL,
    conversation TEXT,
    accepted_ms INTEGER NOT NULL,
    age_from_ms INTEGER NOT NULL,
    due_ms INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    failure TEXT,
    headers TEXT NOT NULL,
    body BLOB NOT NULL
  ) STRICT;
  CREATE INDEX deliveries_by_conversation ON deliveries (workspace, conversation);
  CREATE INDEX deliveries_by_due_time ON deliveries (workspace, due_ms) WHERE due_ms IS NOT NULL;

  CREATE TABLE dead_letters (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    workspace TEXT NOT NULL,
    conversation TEXT,
    accepted_ms INTEGER NOT NULL,
    buried_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    failure TEXT NOT NULL,
    headers TEXT NOT NULL,
    body BLOB NOT NULL
  ) STRICT;
  CREATE INDEX dead_letters_by_workspace ON dead_letters (workspace);

  CREATE TABLE forwarded_workspaces (
    workspace TEXT PRIMARY KEY,
    since_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

/** Opens the file, and makes its tables if it is new. Throws a SpoolError if it is of a later release or no spool. */
export function openSpoolDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS });
  try {
    checkOwner(database);
    // The first has an effect only before the first table. Zeroes over deleted rows, since they hold messages.
    database.exec(`
      PRAGMA auto_vacuum = INCREMENTAL;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA secure_delete = ON;
      PRAGMA wal_autocheckpoint = ${LOG_PAGES};
      PRAGMA journal_size_limit = ${LOG_PAGES * PAGE_BYTES};
    `);
    createTables(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function createTables(database: DatabaseSync): void {
  if (readPragma(database, "user_version") === SPOOL_VERSION) return;
  inTransaction(database, () => {
    // Another process may have been first.
    if (readPragma(database, "user_version") === SPOOL_VERSION) return;
    database.exec(SCHEMA);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SPOOL_VERSION}`);
  });
}

function checkOwner(database: DatabaseSync): void {
  const version = readPragma(database, "user_version");
  const isNew = database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;
  if (!isNew && readPragma(database, "application_id") !== APPLICATION_ID) {
    throw new SpoolError("foreign", "the file is not a spool: it holds another program's tables");
  }
  if (version > SPOOL_VERSION) {
    throw new SpoolError(
      "newer",
      `the spool has version ${version}, this release reads up to ${SPOOL_VERSION}: use the release that wrote it`,
    );
  }
}

/** A setting of SQLite that is a number. */
export function readPragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}
