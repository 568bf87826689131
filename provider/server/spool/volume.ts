import { randomBytes } from "node:crypto";
import { rmSync, statfsSync, statSync, writeFileSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { hasErrorCode, RESERVE_FILE } from "../../lib/files.js";
import { readPragma, SqliteError } from "../../lib/sqlite.js";

const MIB = 1024 * 1024;

/** The space that deliveries leave free on their volume, in bytes: a delete or a reschedule writes to SQLite's log first. */
const RESERVE_BYTES = 32 * MIB;

/** The reserve of a small volume is this part of it. */
const RESERVE_PART = 1 / 4;

/** The part of the reserve that is a file, so that no other program takes it. */
const FILE_PART = 1 / 4;

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
 * The file of a spool and the volume that it is on: whether further deliveries may be stored there. A part of the reserve is
 * a file beside it, which goes once a write finds no room: a delete has room then, whatever else fills the volume.
 */
export class SpoolVolume {
  readonly #path: string;
  readonly #file: Stats;
  readonly #freelist: StatementSync;
  readonly #pageBytes: number;
  /** Deliveries that are being stored. */
  #claimedBytes = 0;

  constructor(database: DatabaseSync) {
    this.#path = database.location() ?? "";
    this.#file = statSync(this.#path);
    this.#freelist = database.prepare("PRAGMA freelist_count");
    this.#pageBytes = readPragma(database, "page_size");
  }

  /** Whether less than the reserve is free, on the volume and in the file. */
  get isShort(): boolean {
    const { freeBytes, reserveBytes } = this.#measure();
    const shortfall = reserveBytes - (freeBytes - this.#claimedBytes);
    return shortfall > 0 && shortfall > this.freePages() * this.#pageBytes;
  }

  /**
   * Stores this many bytes with `store`. Throws a SqliteError without calling it: `full` if less than
   * the reserve is free, `failed` if the file was removed or replaced, because nothing in it survives the process.
   */
  async claim<T>(bytes: number, store: () => Promise<T>): Promise<T> {
    this.#requireFile();
    // Whatever its size: if the health check passes, a delivery is stored.
    if (this.isShort) throw this.#shortage();
    this.#claimedBytes += bytes;
    try {
      return await store();
    } finally {
      this.#claimedBytes -= bytes;
    }
  }

  #measure(): { freeBytes: number; reserveBytes: number } {
    const { bavail, blocks, bsize } = statfsSync(this.#path);
    // Some network file systems do not say how large they are.
    if (blocks === 0) return { freeBytes: Infinity, reserveBytes: 0 };
    return {
      freeBytes: bavail * bsize + this.#heldBytes(),
      reserveBytes: Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_PART),
    };
  }

  #heldBytes(): number {
    return statSync(reservePathOf(this.#path), { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Makes the file of the reserve if it is missing. To be called while the reserve is free. */
  takeReserve(): void {
    const bytes = this.#measure().reserveBytes * FILE_PART;
    if (this.#heldBytes() >= bytes) return;
    // Random: some file systems give zeros no space.
    writeFileSync(reservePathOf(this.#path), randomBytes(bytes), { mode: 0o600 });
  }

  /** The pages of deleted rows, which new rows use first. */
  freePages(): number {
    return Number(this.#freelist.get()?.freelist_count);
  }

  #requireFile(): void {
    try {
      const { dev, ino } = statSync(this.#path);
      if (dev === this.#file.dev && ino === this.#file.ino) return;
    } catch (error) {
      if (!hasErrorCode(error, "ENOENT", "ENOTDIR")) throw error;
    }
    const text = `${this.#path} was removed or replaced while this process uses it: restart the responder`;
    throw new SqliteError("failed", text);
  }

  #shortage(): SqliteError {
    const reserve = Math.ceil(this.#measure().reserveBytes / MIB);
    return new SqliteError(
      "full",
      `less than ${reserve} MiB are free on the volume of ${this.#path}: make room`,
    );
  }
}
