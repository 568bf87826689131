import type { DatabaseSync, StatementSync } from "node:sqlite";

/** How old the time in the file may be, in milliseconds, before a commit writes it again. */
const NOTE_EVERY_MS = 1_000;

/** Its row in `forwarded_workspaces`. No workspace has this name. */
const CLOCK_ROW = "";

/**
 * The time by which deliveries are due and grow old, in milliseconds since 1970. It starts as the machine's clock, but no
 * earlier than the latest time in the file, and then only counts the time that passes. So whoever sets that clock, back or
 * forward, neither delays a delivery nor makes it older.
 */
export class SpoolClock {
  /** When it started. */
  readonly openedMs: number;
  readonly #zeroMs: number;
  readonly #write: StatementSync;
  #notedMs: number;

  constructor(database: DatabaseSync) {
    const row = database
      .prepare("SELECT since_ms FROM forwarded_workspaces WHERE workspace = ?")
      .get(CLOCK_ROW);
    this.#notedMs = Number(row?.since_ms ?? 0);
    this.#zeroMs = Math.max(Date.now(), this.#notedMs) - performance.now();
    this.openedMs = this.nowMs();
    this.#write = database.prepare(
      `INSERT INTO forwarded_workspaces (workspace, since_ms) VALUES (?, ?)
       ON CONFLICT DO UPDATE SET since_ms = max(since_ms, excluded.since_ms)`,
    );
  }

  nowMs(): number {
    return Math.floor(this.#zeroMs + performance.now());
  }

  /** How far it is ahead of the machine's clock, in milliseconds. */
  aheadMs(): number {
    return this.nowMs() - Date.now();
  }

  /** Writes the time into the file, within the current transaction. If that is undone, the next one is soon enough. */
  note(): void {
    const nowMs = this.nowMs();
    if (nowMs - this.#notedMs < NOTE_EVERY_MS) return;
    this.#write.run(CLOCK_ROW, nowMs);
    this.#notedMs = nowMs;
  }
}
