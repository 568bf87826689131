import { closeSync, fdatasync, openSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { inTransaction, SqliteError, toSqliteError } from "../../lib/sqlite.js";
import type { SpoolClock } from "./database.js";
import type { SpoolVolume } from "./volume.js";

/** A write that waits for the next commit. `run` may be called again after it was rolled back. */
interface PendingWrite {
  kind: WriteKind;
  run(): void;
  resolve(): void;
  reject(error: SqliteError): void;
}

/**
 * `frees`: removes or changes rows. Its commit survives a killed process; after a power failure it may be undone.
 * `adds`: needs room for new rows, and survives both once it resolves.
 */
export type WriteKind = "frees" | "adds";

/**
 * Commits all writes of one turn of the event loop together. SQLite does not wait for the disk then (`synchronous` is
 * NORMAL): new rows wait here, beside the event loop, and all commits of that time share one wait. If a commit fails,
 * each write is tried alone: a delivery that does not fit holds back neither those that do nor the rows to be
 * deleted, which make room. A write that fails alone is tried once more.
 */
export class SharedCommits {
  readonly #database: DatabaseSync;
  readonly #clock: SpoolClock;
  readonly #volume: SpoolVolume;
  #pending: PendingWrite[] = [];
  #scheduled: NodeJS.Immediate | undefined;
  /** SQLite's log. */
  readonly #log: number;
  /** Committed, and waiting for the disk. */
  #committed: PendingWrite[] = [];
  #isSyncing = false;
  /** Set once the disk has failed or a file is gone. What the disk has is then unknown, and what follows depends on that. */
  #failure: SqliteError | undefined;
  #closed = false;

  constructor(database: DatabaseSync, clock: SpoolClock, volume: SpoolVolume) {
    this.#database = database;
    this.#clock = clock;
    this.#volume = volume;
    // It is this file as long as the database is open. SQLite has no lock on it that closing would release.
    this.#log = openSync(`${database.location()}-wal`, "r+");
  }

  /**
   * Resolves with the result of `run` after its commit. Rejects with a SqliteError, and then nothing of it is stored,
   * unless the disk has failed or a file is gone.
   */
  write<T>(kind: WriteKind, run: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(new SqliteError("closed", "the spool is closed"));
    if (this.#failure && kind === "adds") return Promise.reject(this.#failure);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let result: T;
    this.#pending.push({ kind, run: () => void (result = run()), resolve: () => resolve(result), reject });
    this.#scheduled ??= setImmediate(() => this.#flush());
    return promise;
  }

  /** Throws a SqliteError once the disk has failed, or a file was removed or replaced. */
  requireFiles(): void {
    this.#findFailure();
    if (this.#failure) throw this.#failure;
  }

  /** Commits waiting writes, and waits for the disk. Later writes are rejected. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#flush();
    if (!this.#isSyncing) closeSync(this.#log);
  }

  #flush(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    const { adds = [], frees = [] } = Object.groupBy(this.#pending, ({ kind }) => kind);
    const writes = [...frees, ...adds];
    this.#pending = [];
    if (writes.length > 0) this.#commit(writes);
  }

  #commit(writes: readonly PendingWrite[], isLast = false): void {
    try {
      inTransaction(this.#database, () => {
        for (const write of writes) write.run();
        this.#clock.note();
      });
    } catch (error) {
      this.#settleFailed(writes, toSqliteError(error), isLast);
      return;
    }
    for (const write of writes) {
      if (write.kind === "frees") write.resolve();
      else this.#committed.push(write);
    }
    this.#sync();
    this.#volume.tidyLater();
  }

  /** Resolves writes once the disk has their commits. What is committed meanwhile shares the next wait. */
  #sync(): void {
    if (this.#isSyncing || this.#committed.length === 0) return;
    const writes = this.#committed.splice(0);
    this.#isSyncing = true;
    fdatasync(this.#log, (error) => {
      this.#isSyncing = false;
      this.#findFailure(error);
      for (const write of writes) {
        if (this.#failure) write.reject(this.#failure);
        else write.resolve();
      }
      if (this.#closed && this.#committed.length === 0) closeSync(this.#log);
      this.#sync();
    });
  }

  #findFailure(error?: Error | null): void {
    if (error) this.#failure = new SqliteError("failed", `${error.message}: restart the responder`, error);
    if (this.#failure) return;
    try {
      this.#volume.requireFiles();
    } catch (cause) {
      this.#failure = toSqliteError(cause);
      // What was acknowledged before may be in the removed log alone.
      this.#volume.checkpoint();
    }
  }

  #settleFailed(writes: readonly PendingWrite[], error: SqliteError, isLast: boolean): void {
    // Waiting for a lock blocks the event loop, so do not repeat it for each write.
    if (isLast || error.code === "busy") for (const write of writes) write.reject(error);
    else if (writes.length > 1) for (const write of writes) this.#commit([write]);
    else {
      if (error.code === "full") this.#volume.makeRoom();
      this.#commit(writes, true);
    }
  }
}
