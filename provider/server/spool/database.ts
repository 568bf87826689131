import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { openSqlite, toSqliteError } from "../../lib/sqlite.js";
import { releaseReserve } from "./volume.js";

/** How long a write waits for another process that holds the file, in milliseconds. */
const LOCK_TIMEOUT_MS = 5_000;

/** The write-ahead log is checkpointed and truncated at about 8 MiB. */
const LOG_PAGES = 2_000;
const PAGE_BYTES = 4_096;

/** `synchronous`: a commit returns once it is on disk. `secure_delete`: deleted messages are overwritten. */
const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA secure_delete = ON;
  PRAGMA wal_autocheckpoint = ${LOG_PAGES};
  PRAGMA journal_size_limit = ${LOG_PAGES * PAGE_BYTES};
`;

/**
 * `position` is the order of acceptance. `due_ms` is set only for the first delivery of each conversation,
 * and for each without a conversation: only these may be forwarded, so a long queue behind them costs nothing.
 * `accepted_ms` and `buried_ms` follow the machine's clock. `due_ms`, `age_from_ms` and `since_ms` follow running time,
 * which advances only while a responder has the file open. `clock` holds the running time and the machine's time at the
 * last commit. All are in milliseconds.
 */
const TABLES = `
  CREATE TABLE deliveries (
    position INTEGER PRIMARY KEY,
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

  CREATE TABLE clock (running_ms INTEGER NOT NULL, noted_ms INTEGER NOT NULL) STRICT;
  INSERT INTO clock VALUES (0, 0);
`;

/** Only the responder passes `create`: it then creates a missing file, and converts an older one. */
export function openSpoolDatabase(path: string, create: boolean): DatabaseSync {
  const options = {
    applicationId: "apic",
    version: 1,
    tables: TABLES,
    migrations: [],
    pragmas: PRAGMAS,
    // Has an effect only before the first table is created.
    firstPragmas: "PRAGMA auto_vacuum = INCREMENTAL",
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    create,
  };
  try {
    return openSqlite(path, options);
  } catch (error) {
    // The disk is full, and SQLite must create its index of the log: remove the reserve, and try again.
    if (toSqliteError(error).code !== "full" || !releaseReserve(path)) throw error;
    return openSqlite(path, options);
  }
}

/** A header as received: name and value. Repeated names stay separate, in the order received. */
export type HeaderPair = readonly [name: string, value: string];

/** A verified delivery, to be stored until it is forwarded. */
export interface AcceptedDelivery {
  /** A UUID. It stays the same through retries, restarts and replays. */
  id: string;
  workspace: string;
  /** Deliveries of one conversation are forwarded in order; those without a conversation do not wait for others. */
  conversation: string | undefined;
  headers: readonly HeaderPair[];
  body: Uint8Array;
}

/** A delivery waiting to be forwarded or read. */
export interface KeptDelivery extends AcceptedDelivery {
  /** Its place in the order of acceptance. */
  position: number;
  /** When it was accepted, in milliseconds since 1970. */
  acceptedMs: number;
  attempts: number;
  failure: string | undefined;
  /** When it is due by the machine's clock. Missing if the workspace is not forwarded or another delivery is first. */
  dueMs?: number | undefined;
}

export interface DeadLetter extends KeptDelivery {
  failure: string;
  /** When it was given up, in milliseconds since 1970. */
  buriedMs: number;
}

export interface ListOptions {
  /** Default: all. */
  workspace?: string | undefined;
  limit: number;
  /** Only rows after this position, to continue a list. */
  after?: number | undefined;
}

/** The columns of a delivery, under the names of its fields. */
export const COLUMNS =
  "position, id, workspace, conversation, accepted_ms AS acceptedMs, attempts, failure, headers, body";

export function toDelivery({ headers, ...row }: Record<string, SQLOutputValue>): KeptDelivery {
  const fields = Object.entries(row).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(fields), headers: JSON.parse(headers as string) as unknown } as KeptDelivery;
}
