import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { inTransaction } from "../../lib/sqlite.js";
import {
  COLUMNS,
  type DeadLetter,
  type KeptDelivery,
  type ListOptions,
  openSpoolDatabase,
  toDelivery,
} from "./database.js";
import { SPOOL_FILE } from "./volume.js";

export interface SpoolCounts {
  /** Acknowledged, but neither forwarded nor given up. */
  pending: number;
  deadLetters: number;
  /** When the oldest pending delivery was accepted, in milliseconds since 1970. */
  oldestMs?: number | undefined;
}

/** Selects dead letters by ID (default: all IDs) and by workspace (default: all workspaces). */
export interface DeadLetterChoice {
  ids?: readonly string[];
  workspace?: string | undefined;
}

/** Opens the spool for a process other than its responder. Returns undefined if there is none. */
export function findSpool(dataDir: string): SpoolFile | undefined {
  const path = join(dataDir, SPOOL_FILE);
  return existsSync(path) ? new SpoolFile(openSpoolDatabase(path, false)) : undefined;
}

/**
 * The file of a spool: its deliveries, and the changes that any process may make. All queries use an index, so
 * 100,000 rows do not slow them down. Every method throws what SQLite throws.
 */
export class SpoolFile {
  readonly #database: DatabaseSync;
  readonly #statements: ReturnType<typeof prepareStatements>;
  /** The running time when this process began. */
  readonly #zeroMs: number;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#statements = prepareStatements(database);
    this.#zeroMs = Number(this.#statements.runningTime.get()?.running_ms) - performance.now();
  }

  /** The running time in milliseconds, which advances only while a responder has the file open. */
  nowMs(): number {
    return Math.floor(this.#zeroMs + performance.now());
  }

  /** Makes changes in one transaction, which is on the disk when this returns. */
  write<T>(change: () => T): T {
    return inTransaction(this.#database, () => {
      const result = change();
      this.#statements.noteTime.run(this.nowMs(), Date.now());
      return result;
    });
  }

  /** Makes waiting deliveries of these workspaces (default: all) due now. Returns the number of their conversations. */
  retry(workspaces?: readonly string[]): number {
    return this.write(() => this.retryWaiting(workspaces));
  }

  /** The replayed dead letters keep their IDs and their original positions, but their age starts over. */
  replay(choice: DeadLetterChoice): number {
    return this.write(() => this.replayEach(this.chooseDead(choice)));
  }

  retryWaiting(workspaces?: readonly string[]): number {
    const given = workspaces === undefined ? null : JSON.stringify(workspaces);
    return this.changed(this.#statements.retry.all({ given, nowMs: this.nowMs() }).map(toWorkspace));
  }

  chooseDead({ ids, workspace }: DeadLetterChoice): number[] {
    return this.#statements.chooseDead
      .all({ ids: ids ? JSON.stringify(ids) : null, workspace: workspace ?? null })
      .map(({ position }) => Number(position));
  }

  replayEach(positions: readonly number[]): number {
    const { yieldHead, replay, removeDead } = this.#statements;
    return this.changed(
      positions.flatMap((position) => {
        yieldHead.run({ position });
        const moved = replay.all({ position, nowMs: this.nowMs() });
        removeDead.run(position);
        return moved.map(toWorkspace);
      }),
    );
  }

  list({ workspace, limit, after = 0 }: ListOptions): KeptDelivery[] {
    return this.#statements.list.all({ workspace: workspace ?? null, after, limit }).map(toDelivery);
  }

  listDeadLetters({ workspace, limit, after = 0 }: ListOptions): DeadLetter[] {
    return this.#statements.listDead
      .all({ workspace: workspace ?? null, after, limit })
      .map(toDelivery) as DeadLetter[];
  }

  find(id: string): KeptDelivery | undefined {
    const row = this.#statements.find.get({ id });
    return row && toDelivery(row);
  }

  findUnknown(ids: readonly string[]): string[] {
    return this.#statements.findUnknown.all(JSON.stringify(ids)).map(({ id }) => String(id));
  }

  counts(): Map<string, SpoolCounts> {
    const rows = this.#statements.counts.all() as unknown as (SpoolCounts & { workspace: string })[];
    return new Map(
      rows.map(({ workspace, oldestMs, ...counts }) => [
        workspace,
        { ...counts, oldestMs: oldestMs ?? undefined },
      ]),
    );
  }

  close(): void {
    this.#database.close();
  }

  /** Called within the transaction, with the workspace of each delivery that became due. */
  protected changed(workspaces: readonly string[]): number {
    return workspaces.length;
  }
}

export const toWorkspace = ({ workspace }: { workspace?: unknown }): string => String(workspace);

const prepareStatements = (database: DatabaseSync) => ({
  runningTime: database.prepare("SELECT running_ms FROM clock"),
  noteTime: database.prepare("UPDATE clock SET running_ms = ?, noted_ms = ?"),
  retry: database.prepare(
    `UPDATE deliveries SET due_ms = :nowMs WHERE due_ms > :nowMs
     AND (:given IS NULL OR workspace IN (SELECT value FROM json_each(:given))) RETURNING workspace`,
  ),
  chooseDead: database.prepare(
    `SELECT position FROM dead_letters
     WHERE (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids))) AND ${OF_WORKSPACE} ORDER BY position`,
  ),
  // The first waiting delivery of a conversation is no longer due if the dead letter comes before it.
  yieldHead: database.prepare(
    `UPDATE deliveries SET due_ms = NULL WHERE position > :position AND position =
     (SELECT min(later.position) FROM dead_letters AS letter
      JOIN deliveries AS later USING (workspace, conversation) WHERE letter.position = :position)`,
  ),
  replay: database.prepare(
    `INSERT INTO deliveries
       (position, id, workspace, conversation, accepted_ms, age_from_ms, due_ms, headers, body)
     SELECT position, id, workspace, conversation, accepted_ms, :nowMs,
       iif(EXISTS (SELECT 1 FROM deliveries AS earlier WHERE earlier.workspace = letter.workspace
         AND earlier.conversation = letter.conversation AND earlier.position < letter.position), NULL, :nowMs),
       headers, body
     FROM dead_letters AS letter WHERE position = :position RETURNING workspace`,
  ),
  removeDead: database.prepare("DELETE FROM dead_letters WHERE position = ?"),
  list: database.prepare(
    listOf(
      "deliveries",
      `iif(workspace IN (SELECT workspace FROM forwarded_workspaces),
         due_ms + (SELECT noted_ms - running_ms FROM clock), NULL) AS dueMs`,
    ),
  ),
  listDead: database.prepare(listOf("dead_letters", "buried_ms AS buriedMs")),
  find: database.prepare(`${findIn("deliveries")} UNION ALL ${findIn("dead_letters")}`),
  findUnknown: database.prepare(
    "SELECT DISTINCT value AS id FROM json_each(?) WHERE value NOT IN (SELECT id FROM dead_letters)",
  ),
  counts: database.prepare(
    `SELECT counted.workspace, sum(pending) AS pending, sum(dead) AS deadLetters, max(head.accepted_ms) AS oldestMs
     FROM (
       SELECT workspace, count(*) AS pending, 0 AS dead, min(position) AS oldest FROM deliveries GROUP BY workspace
       UNION ALL SELECT workspace, 0, count(*), NULL FROM dead_letters GROUP BY workspace
     ) AS counted LEFT JOIN deliveries AS head ON head.position = oldest GROUP BY counted.workspace`,
  ),
});

const OF_WORKSPACE = "(:workspace IS NULL OR workspace = :workspace)";

const findIn = (table: string): string => `SELECT ${COLUMNS} FROM ${table} WHERE id = :id`;

/** Finds the rows in an index, so that the bodies of other rows are not read. */
const listOf = (table: string, more: string): string =>
  `SELECT ${COLUMNS}, ${more} FROM ${table} WHERE position IN
   (SELECT position FROM ${table} WHERE ${OF_WORKSPACE} AND position > :after ORDER BY position LIMIT :limit)
   ORDER BY position`;
