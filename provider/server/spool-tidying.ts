import type { DatabaseSync } from "node:sqlite";
import { LOCK_TIMEOUT_MS, readPragma } from "./spool-schema.js";

/** Pages given back to the file system at a time, so that the event loop is not held up. */
const PAGES_AT_ONCE = 1_000;

/**
 * Keeps the files small, and free of messages that are gone: some time after a write it gives free pages back to the file
 * system and empties the log, in which rows stand that are deleted from the file.
 */
export class SpoolTidying {
  readonly #database: DatabaseSync;
  readonly #afterMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: DatabaseSync, afterMs: number) {
    this.#database = database;
    this.#afterMs = afterMs;
  }

  /** Says that something was written. */
  schedule(): void {
    this.#timer ??= setTimeout(() => this.#tidy(), this.#afterMs).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #tidy(): void {
    this.#timer = undefined;
    if (!this.#isTidy()) this.schedule();
  }

  #isTidy(): boolean {
    // While another process reads or writes, the log cannot be emptied: later, then, rather than wait for it here.
    this.#database.exec("PRAGMA busy_timeout = 0");
    try {
      this.#database.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
      const checkpoint = this.#database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
      return checkpoint?.busy === 0 && readPragma(this.#database, "freelist_count") === 0;
    } catch {
      // The same, or a full disk: nothing is lost by trying again.
      return false;
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`);
    }
  }
}
