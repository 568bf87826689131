import type { DatabaseSync } from "node:sqlite";
import { LOCK_TIMEOUT_MS } from "./database.js";
import type { SpoolVolume } from "./volume.js";

/** Pages given back to the file system at a time, so that the event loop is not delayed. */
const PAGES_AT_ONCE = 1_000;

/**
 * Keeps the files small, and free of messages that are gone: some time after a write it gives free pages back to the file
 * system and empties the log, which still holds rows that are deleted from the file. While space is short, the log and the
 * free pages stay, so that no other program takes what deletes and reschedules need.
 */
export class SpoolTidying {
  readonly #database: DatabaseSync;
  readonly #volume: SpoolVolume;
  readonly #afterMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: DatabaseSync, volume: SpoolVolume, afterMs: number) {
    this.#database = database;
    this.#volume = volume;
    this.#afterMs = afterMs;
  }

  /** Something was written: tidies up after a while. */
  schedule(): void {
    this.#timer ??= setTimeout(() => this.#tidy(), this.#afterMs).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Moves the log into the file, so that the next writes use the log's space again. Never throws, never waits. */
  reuseLog(): void {
    try {
      this.#database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {
      // The disk is full. The next write reports that.
    }
  }

  #tidy(): void {
    this.#timer = undefined;
    if (!this.#isTidy()) this.schedule();
  }

  #isTidy(): boolean {
    // While another process reads or writes, the log cannot be emptied: try again later, rather than wait for it here.
    this.#database.exec("PRAGMA busy_timeout = 0");
    try {
      this.reuseLog();
      if (this.#volume.isShort) return false;
      this.#volume.takeReserve();
      this.#giveBackPages();
      this.reuseLog();
      const checkpoint = this.#database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
      return checkpoint?.busy === 0 && this.#volume.freePages() === 0;
    } catch {
      // Another process is busy, or the disk is full: try again later.
      return false;
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`);
    }
  }

  #giveBackPages(): void {
    const pages = Math.min(PAGES_AT_ONCE, this.#volume.freePages());
    if (pages > 0) this.#database.exec(`PRAGMA incremental_vacuum(${pages})`);
  }
}
