import pLimit, { type LimitFunction } from "p-limit";
import { NEVER, orAborted, sleep } from "../lib/abort.js";
import { CALLS_PER_ORIGIN } from "../lib/post.js";

/** A bounded number of permits, given out by the order of asking. */
export class Semaphore {
  readonly #limit: LimitFunction;

  constructor(permits: number) {
    this.#limit = pLimit(permits);
  }

  /** Waits for a permit, and gives what releases it. Rejects with the signal's reason if that fires first. */
  async acquire(signal: AbortSignal = NEVER): Promise<() => void> {
    const acquired = Promise.withResolvers<() => void>();
    void this.#limit(async () => {
      const released = Promise.withResolvers<void>();
      // Who has given up holds up nobody.
      if (signal.aborted) return;
      acquired.resolve(released.resolve);
      await released.promise;
    });
    return orAborted(acquired.promise, signal);
  }
}

/** Lets a bounded number of calls through to one origin, and none while the origin asked for a pause. */
export class OriginGate {
  #pausedUntil = 0;
  readonly #semaphore: Semaphore;

  constructor(callsAtOnce: number) {
    this.#semaphore = new Semaphore(callsAtOnce);
  }

  /** Waits for a permit, and for the end of a pause; gives what releases it. Rejects with the signal's reason if that fires first. */
  async acquire(signal: AbortSignal = NEVER): Promise<() => void> {
    const release = await this.#semaphore.acquire(signal);
    try {
      for (let ms = this.#pausedUntil - Date.now(); ms > 0; ms = this.#pausedUntil - Date.now()) {
        await sleep(ms, signal);
      }
      return release;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Holds back every call that has not begun for this many milliseconds. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, Date.now() + ms);
  }
}

const gates = new Map<string, OriginGate>();

/** The one gate of an origin in this process. */
export function gateOf(origin: string): OriginGate {
  let gate = gates.get(origin);
  if (!gate) gates.set(origin, (gate = new OriginGate(CALLS_PER_ORIGIN)));
  return gate;
}
