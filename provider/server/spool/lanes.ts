/** How many attempts may be in progress at once. */
export interface AttemptLimits {
  /** Of one workspace. It never has more than half of what is free. */
  perWorkspace: number;
  total: number;
}

/** A delivery that is due, as far as the file has to be read for that. */
export interface DueRow {
  position: number;
  workspace: string;
  conversation: string | null;
  /** When its age begins, in running time. */
  ageFromMs: number;
  attempts: number;
}

/** What the lanes read from the file. */
export interface DueRows {
  /** The deliveries of a workspace that are due, the longest due first. */
  due(workspace: string, nowMs: number, limit: number): DueRow[];
  /** When the next one of a workspace is due after that. Infinity if none is. */
  nextDueMs(workspace: string, nowMs: number): number;
}

/** A workspace that has deliveries to forward. */
interface Lane {
  workspace: string;
  /** The number of attempts in progress. */
  attempts: number;
  /** The number of deliveries that are handed out: also those whose attempt has ended, until that is recorded. */
  taken: number;
  /** Whether its last attempt timed out. */
  isHanging: boolean;
  /** When to look for its due deliveries, in running time. */
  lookMs: number;
}

/** Decides which deliveries to forward now: those that are due, in order within a conversation, by the limits. */
export class Lanes {
  readonly #rows: DueRows;
  readonly #lanes = new Map<string, Lane>();
  /** The deliveries that are handed out, by position. */
  readonly #taken = new Map<number, DueRow>();
  /** Those whose attempt is in progress. */
  readonly #attempts = new Set<number>();
  #forwarded: ReadonlySet<string> = new Set();
  #except: ReadonlySet<string> = new Set();
  #limits: AttemptLimits = { perWorkspace: 0, total: 0 };

  constructor(rows: DueRows) {
    this.#rows = rows;
  }

  /** Forwards these workspaces from now on. */
  follow(forwarded: ReadonlySet<string>): void {
    this.#forwarded = forwarded;
  }

  /** Limits the attempts, and hands out nothing of some workspaces. */
  limit(limits: AttemptLimits, except: ReadonlySet<string>): void {
    this.#limits = limits;
    this.#except = except;
  }

  /** Looks for due deliveries of a workspace. */
  wake(workspace: string): void {
    const lane = this.#lanes.get(workspace);
    if (lane !== undefined) lane.lookMs = 0;
    else if (this.#forwarded.has(workspace))
      this.#lanes.set(workspace, { workspace, attempts: 0, taken: 0, isHanging: false, lookMs: 0 });
  }

  /** Returns a delivery that is handed out. */
  taken(position: number): DueRow {
    const row = this.#taken.get(position);
    if (row === undefined) throw new Error(`delivery ${position} is not being forwarded`);
    return row;
  }

  /** Ends an attempt: another one may begin before this one is recorded. */
  end(position: number, timedOut = false): void {
    const lane = this.#lanes.get(this.taken(position).workspace);
    if (!this.#attempts.delete(position) || lane === undefined) return;
    lane.attempts -= 1;
    lane.isHanging = timedOut;
  }

  /** Makes a delivery available again, or forgets it if it is gone. */
  settle(position: number): void {
    const { workspace } = this.taken(position);
    this.end(position);
    this.#taken.delete(position);
    const lane = this.#lanes.get(workspace);
    if (lane !== undefined) lane.taken -= 1;
    this.wake(workspace);
  }

  /** Takes the deliveries to forward now, those of the workspaces with the fewest attempts in progress first. */
  *take(nowMs: number): Generator<DueRow> {
    const isReady = (lane: Lane): boolean => lane.lookMs <= nowMs && this.#roomOf(lane) > 0;
    const ready = [...this.#lanes.values()].filter(isReady);
    for (const lane of ready.toSorted((one, other) => one.attempts - other.attempts)) {
      const room = this.#roomOf(lane);
      if (room === 0) continue;
      const found = this.#find(lane, room, nowMs);
      for (const row of found) {
        this.#taken.set(row.position, row);
        this.#attempts.add(row.position);
        lane.attempts += 1;
        lane.taken += 1;
        yield row;
      }
      if (found.length < room) lane.lookMs = this.#rows.nextDueMs(lane.workspace, nowMs);
      if (lane.lookMs === Infinity && lane.taken === 0) this.#lanes.delete(lane.workspace);
    }
  }

  /** When to take again even if nothing happens until then. Infinity if nothing waits for its time. */
  nextMs(): number {
    let nextMs = Infinity;
    for (const lane of this.#lanes.values())
      if (lane.lookMs < nextMs && this.#roomOf(lane) > 0) nextMs = lane.lookMs;
    return nextMs;
  }

  /** Not those that are taken, nor others of their conversations: a replay may have put one before them. */
  #find({ workspace, taken }: Lane, room: number, nowMs: number): DueRow[] {
    const rows = this.#rows.due(workspace, nowMs, room + 2 * taken);
    if (taken === 0) return rows;
    const busy = new Set<string | null>();
    for (const row of this.#taken.values()) if (row.workspace === workspace) busy.add(row.conversation);
    busy.delete(null);
    return rows
      .filter(({ position, conversation }) => !this.#taken.has(position) && !busy.has(conversation))
      .slice(0, room);
  }

  /**
   * How many attempts a workspace may begin: at most as many as it leaves free, so that a few hanging targets never use all.
   * A workspace whose last attempt timed out has one attempt at a time. All such workspaces together use at most half
   * of all attempts. As many again may wait for their record.
   */
  #roomOf({ workspace, attempts, taken, isHanging }: Lane): number {
    if (!this.#forwarded.has(workspace) || this.#except.has(workspace)) return 0;
    const { perWorkspace, total } = this.#limits;
    const free = total - this.#attempts.size;
    const room = isHanging
      ? Math.min(1, free - Math.floor(total / 2)) - attempts
      : Math.min(perWorkspace - attempts, Math.ceil((free - attempts) / 2));
    return Math.max(0, Math.min(room, 2 * perWorkspace - taken));
  }
}
