export interface AttemptLimits {
  /** How many attempts one workspace may have at once. It may begin at most half of the attempts that are free. */
  perWorkspace: number;
  total: number;
}

/** A forwarded workspace that has deliveries. */
export interface Lane {
  workspace: string;
  attempts: number;
  isHanging: boolean;
  /** The running time at which to look for due deliveries. */
  lookMs: number;
}

/** Decides how many attempts each workspace may begin, and when to look for its due deliveries. */
export class Lanes {
  /** The workspaces that may begin attempts. */
  forwarded: ReadonlySet<string> = new Set();
  readonly #limits: AttemptLimits;
  readonly #lanes = new Map<string, Lane>();
  #attempts = 0;

  constructor(limits: AttemptLimits) {
    this.#limits = limits;
  }

  /** Schedules a search for the due deliveries of a workspace. */
  wake(workspace: string): void {
    const lane = this.#lanes.get(workspace);
    if (lane) lane.lookMs = 0;
    else if (this.forwarded.has(workspace))
      this.#lanes.set(workspace, { workspace, attempts: 0, isHanging: false, lookMs: 0 });
  }

  /** Yields the workspaces that may begin attempts, those with the fewest in progress first. */
  *ready(nowMs: number): Generator<[lane: Lane, room: number]> {
    const ready = [...this.#lanes.values()].filter(({ lookMs }) => lookMs <= nowMs);
    for (const lane of ready.toSorted((one, other) => one.attempts - other.attempts)) {
      const room = this.#roomOf(lane);
      if (room > 0) yield [lane, room];
    }
  }

  begin(lane: Lane, attempts: number, lookMs: number): void {
    lane.attempts += attempts;
    this.#attempts += attempts;
    lane.lookMs = lookMs;
    this.#lanes.delete(lane.workspace);
    // Move this lane behind the others, so that each gets its turn.
    if (lookMs < Infinity || lane.attempts > 0) this.#lanes.set(lane.workspace, lane);
  }

  end(workspace: string, timedOut: boolean): void {
    this.#attempts -= 1;
    const lane = this.#lanes.get(workspace);
    if (lane === undefined) return;
    lane.attempts -= 1;
    lane.isHanging = timedOut;
    lane.lookMs = 0;
  }

  /** Returns the running time at which to look again if nothing happens before; Infinity if never. */
  nextMs(): number {
    let nextMs = Infinity;
    for (const lane of this.#lanes.values())
      if (lane.lookMs < nextMs && this.#roomOf(lane) > 0) nextMs = lane.lookMs;
    return nextMs;
  }

  /**
   * Returns how many attempts a workspace may begin, so that hanging targets cannot use them all. A workspace whose
   * last attempt timed out has one attempt at a time. All such workspaces together use at most half of all attempts.
   */
  #roomOf({ workspace, attempts, isHanging }: Lane): number {
    if (!this.forwarded.has(workspace)) return 0;
    const { perWorkspace, total } = this.#limits;
    const free = total - this.#attempts;
    const room = isHanging
      ? Math.min(1, free - Math.floor(total / 2)) - attempts
      : Math.min(perWorkspace - attempts, Math.ceil((free - attempts) / 2));
    return Math.max(0, room);
  }
}
