import type { DatabaseSync } from "node:sqlite";
import type { SharedCommits } from "./shared-commits.js";
import type { SpoolClock } from "./clock.js";
import { toDeadLetter, type DeadLetter, type ListOptions } from "./database.js";

/** Which dead letters: these, or all of one workspace or of every one. */
export type DeadLetterChoice = { ids: readonly string[] } | { all: true; workspace?: string | undefined };

/** How many rows one commit moves, so that the process that serves is never kept waiting for long. */
const ROWS_A_COMMIT = 200;

/** The deliveries that could not be forwarded. */
export class DeadLetters {
  readonly #commits: SharedCommits;
  readonly #clock: SpoolClock;
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(database: DatabaseSync, commits: SharedCommits, clock: SpoolClock) {
    this.#commits = commits;
    this.#clock = clock;
    this.#statements = prepareStatements(database);
  }

  /** In the order of acceptance. */
  list({ workspace, limit, after = 0 }: ListOptions): DeadLetter[] {
    return this.#statements.list.all(workspace ?? null, workspace ?? null, after, limit).map(toDeadLetter);
  }

  /**
   * Moves dead letters back to their original position in the queue. They keep their IDs, and their age starts again.
   * Resolves with their number. If the forwarder runs in another process, notify it with `requestRetry`.
   */
  async replay(choice: DeadLetterChoice): Promise<number> {
    // Select all of them up front: letters that are refused again in the meantime would otherwise be replayed forever.
    const positions = this.#choose(choice);
    let count = 0;
    for (let start = 0; start < positions.length; start += ROWS_A_COMMIT) {
      const some = positions.slice(start, start + ROWS_A_COMMIT);
      count += await this.#commits.write("frees", () =>
        some.reduce((replayed, position) => replayed + this.#replayOne(position), 0),
      );
    }
    return count;
  }

  /** Which of the ids are no dead letters. */
  findUnknown(ids: readonly string[]): string[] {
    return this.#statements.findUnknown.all(JSON.stringify(ids)).map(({ id }) => String(id));
  }

  /** Returns 0 if another process was first. */
  #replayOne(position: number): number {
    this.#statements.yieldHead.run({ position });
    this.#statements.replay.run({ position, nowMs: this.#clock.nowMs() });
    return Number(this.#statements.remove.run(position).changes);
  }

  #choose(choice: DeadLetterChoice): number[] {
    const { chooseById, chooseAll } = this.#statements;
    if ("ids" in choice) return chooseById.all(JSON.stringify(choice.ids)).map(positionOf);
    const workspace = choice.workspace ?? null;
    return chooseAll.all(workspace, workspace).map(positionOf);
  }
}

const positionOf = ({ position }: { position?: unknown }): number => Number(position);

function prepareStatements(database: DatabaseSync) {
  return {
    list: database.prepare(
      `SELECT * FROM dead_letters WHERE position IN
       (SELECT position FROM dead_letters WHERE (? IS NULL OR workspace = ?) AND position > ?
        ORDER BY position LIMIT ?)
       ORDER BY position`,
    ),
    chooseById: database.prepare(
      "SELECT position FROM dead_letters WHERE id IN (SELECT value FROM json_each(?)) ORDER BY position",
    ),
    findUnknown: database.prepare(
      "SELECT DISTINCT value AS id FROM json_each(?) WHERE value NOT IN (SELECT id FROM dead_letters)",
    ),
    chooseAll: database.prepare(
      "SELECT position FROM dead_letters WHERE ? IS NULL OR workspace = ? ORDER BY position",
    ),
    remove: database.prepare("DELETE FROM dead_letters WHERE position = ?"),
    // The first of a conversation that waits is the first no more if the dead letter was before it.
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
       FROM dead_letters AS letter WHERE position = :position`,
    ),
  };
}
