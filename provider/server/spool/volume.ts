import { randomBytes } from "node:crypto";
import { rmSync, statfsSync, statSync, writeFileSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { fileSize } from "../../lib/files.js";
import { isDiskFailure, readPragma, SqliteError, toSqliteError } from "../../lib/sqlite.js";

/** SQLite's other files are next to it, with endings added to this name. */
export const SPOOL_FILE = "spool.sqlite";

/** The file that holds a part of the reserve. Its content means nothing. */
export const RESERVE_FILE = `${SPOOL_FILE}-reserve`;

const MIB = 1024 * 1024;

/** How many bytes new deliveries leave free for deletes and reschedules, which write to SQLite's log first. */
const RESERVE_BYTES = 32 * MIB;

/** On a small volume, the reserve is smaller than `RESERVE_BYTES`: at most this fraction of the volume. */
const RESERVE_SHARE = 1 / 4;

/** The fraction of the reserve that a file occupies, so that no other program can use that space. */
const FILE_SHARE = 1 / 4;

/** How many pages are returned to the file system at once: few enough that no delivery waits long. */
const PAGES_AT_ONCE = 1_000;

const reservePathOf = (spoolPath: string): string => join(dirname(spoolPath), RESERVE_FILE);

/** Removes the file that holds a part of the reserve. Returns false if there is none. */
export function releaseReserve(spoolPath: string): boolean {
  try {
    rmSync(reservePathOf(spoolPath));
    return true;
  } catch {
    return false;
  }
}

/**
 * The spool's file and its volume. Decides whether further deliveries may be stored there, and keeps the
 * files small and free of deleted messages. A file next to the spool holds a part of the reserve. It is
 * removed when a write finds no room, so that deletes have room whatever else fills the volume. Rows in the
 * database could not serve as the reserve: to delete them, SQLite would first need room in the log.
 */
export class SpoolVolume {
  readonly #database: DatabaseSync;
  readonly #tidyAfterMs: number;
  readonly #path: string;
  /** The files that SQLite has open: the spool, its log and the log's index. */
  readonly #files: ReadonlyMap<string, Stats>;
  #tidyTimer: NodeJS.Timeout | undefined;
  /**
   * Whether the log contains only what this process wrote. If the disk failed earlier, parts of another process's
   * log may be missing on the disk, and a power failure would lose everything after those parts.
   */
  #isLogOurs = false;
  /**
   * Set once the disk has failed or a file is gone: the files' contents, on which later writes depend, are unknown.
   */
  #failure: SqliteError | undefined;

  constructor(database: DatabaseSync, tidyAfterMs: number) {
    this.#database = database;
    this.#tidyAfterMs = tidyAfterMs;
    this.#path = database.location() ?? "";
    const paths = ["", "-wal", "-shm"].map((ending) => this.#path + ending);
    this.#files = new Map(paths.map((path) => [path, statSync(path)]));
  }

  /**
   * Returns `full` if less than the reserve is free, `busy` while another process prevents this one from
   * emptying an earlier process's log, and `failed` if {@link findFailure} returns it.
   */
  findRefusal(bytes: number): SqliteError | undefined {
    if (this.#failure) return this.#failure;
    try {
      const { isShort, reserveBytes } = this.#measure(bytes);
      if (isShort) {
        const reserve = `${Math.ceil(reserveBytes / MIB)} MiB`;
        return new SqliteError(
          "full",
          `less than ${reserve} is free on the volume of ${this.#path}: make room`,
        );
      }
      if (!this.#isLogOurs) this.#withoutWaiting(() => this.#emptyLog());
      return undefined;
    } catch (error) {
      return toSqliteError(error);
    }
  }

  /** Returns `failed` once the disk has failed or a file is gone: later writes would not survive the process. */
  findFailure(): SqliteError | undefined {
    for (const [path, { dev, ino }] of this.#files) {
      if (this.#failure) break;
      const found = statSync(path, { throwIfNoEntry: false });
      if (found?.dev === dev && found.ino === ino) continue;
      const text = `${path} was removed or replaced while this process was using it: restart the responder`;
      this.#failure = new SqliteError("failed", text);
      // If the log was removed, it is still open: copy the acknowledged deliveries that are only there.
      this.#checkpoint();
    }
    return this.#failure;
  }

  noteFailure(error: SqliteError): void {
    if (isDiskFailure(error))
      this.#failure ??= new SqliteError("failed", `${error.message}: restart the responder`, error);
  }

  /** Makes room for a write on a full disk: removes the reserve's file, and lets the log's space be reused. */
  makeRoom(): void {
    releaseReserve(this.#path);
    this.#checkpoint();
  }

  /**
   * Creates the reserve's file, returns free pages to the file system and empties the log, which still
   * contains deleted rows. What fails now is retried later. While space is short, keeps free pages and the
   * log, so that no other program takes the space that deletes and reschedules need.
   */
  tidy(): void {
    if (!this.#tryToTidy()) this.tidyLater();
  }

  close(): void {
    clearTimeout(this.#tidyTimer);
  }

  tidyLater(): void {
    this.#tidyTimer ??= setTimeout(() => {
      this.#tidyTimer = undefined;
      this.tidy();
    }, this.#tidyAfterMs);
  }

  /** Lets the next writes reuse the log's space. Never throws, never waits. */
  #checkpoint(): void {
    try {
      this.#database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {
      // The disk is full. The next write reports that.
    }
  }

  /** Returns false if something is left to do. */
  #tryToTidy(): boolean {
    try {
      return this.#withoutWaiting(() => {
        this.#checkpoint();
        const { isShort, fileBytes } = this.#measure();
        if (isShort) return false;
        // Random bytes, because some file systems allocate no space for zeros.
        if (fileSize(reservePathOf(this.#path)) < fileBytes)
          writeFileSync(reservePathOf(this.#path), randomBytes(fileBytes), { mode: 0o600 });
        const pages = Math.min(PAGES_AT_ONCE, this.#freePages());
        if (pages > 0) this.#database.exec(`PRAGMA incremental_vacuum(${pages})`);
        this.#emptyLog();
        return this.#freePages() === 0;
      });
    } catch {
      // Another process is busy, or the disk is full: try again later.
      return false;
    }
  }

  #emptyLog(): void {
    const checkpoint = this.#database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    if (checkpoint?.busy !== 0) throw new SqliteError("busy", "another process reads or writes the spool");
    this.#isLogOurs = true;
  }

  /** Makes `work` fail instead of waiting for another process. */
  #withoutWaiting<T>(work: () => T): T {
    const lockTimeoutMs = readPragma(this.#database, "busy_timeout");
    this.#database.exec("PRAGMA busy_timeout = 0");
    try {
      return work();
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
    }
  }

  /** `isShort` means that less than the reserve is free on the volume and in the spool's file together. */
  #measure(addedBytes = 0): { isShort: boolean; reserveBytes: number; fileBytes: number } {
    const { bavail, blocks, bsize } = statfsSync(dirname(this.#path));
    // Some network file systems do not report their size: `blocks` is 0.
    const reserveBytes = Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_SHARE);
    const freeBytes = bavail * bsize + fileSize(reservePathOf(this.#path));
    const shortfall = reserveBytes + addedBytes - freeBytes;
    const isShort =
      blocks > 0 && shortfall > 0 && shortfall > this.#freePages() * readPragma(this.#database, "page_size");
    return { isShort, reserveBytes, fileBytes: Math.floor(reserveBytes * FILE_SHARE) };
  }

  /** The number of pages that deleted rows have freed. New rows use these pages first. */
  #freePages(): number {
    return readPragma(this.#database, "freelist_count");
  }
}
