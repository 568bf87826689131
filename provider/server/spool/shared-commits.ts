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

/** `frees`: removes or changes rows. `adds`: needs room for new rows. */
export type WriteKind = "frees" | "adds";

/**
 * Commits all writes of one turn of the event loop together, so that they share one wait for the disk. If that commit
 * fails, each write is tried alone: a delivery that does not fit holds back neither those that do nor the rows to be
 * deleted, which make room. A write that fails alone is tried once more.
 */
export class SharedCommits {
  readonly #database: DatabaseSync;
  readonly #clock: SpoolClock;
  readonly #volume: SpoolVolume;
  #pending: PendingWrite[] = [];
  #scheduled: NodeJS.Immediate | undefined;
  #closed = false;

  constructor(database: DatabaseSync, clock: SpoolClock, volume: SpoolVolume) {
    this.#database = database;
    this.#clock = clock;
    this.#volume = volume;
  }

  /** Resolves with the result of `run` after its commit. Rejects with a SqliteError, and then nothing of it is stored. */
  write<T>(kind: WriteKind, run: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(new SqliteError("closed", "the spool is closed"));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let result: T;
    this.#pending.push({ kind, run: () => void (result = run()), resolve: () => resolve(result), reject });
    this.#scheduled ??= setImmediate(() => this.#flush());
    return promise;
  }

  /** Commits waiting writes. Later writes are rejected. */
  close(): void {
    this.#closed = true;
    this.#flush();
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
    for (const write of writes) write.resolve();
    this.#volume.tidyLater();
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
