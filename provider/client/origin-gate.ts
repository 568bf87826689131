import { setTimeout as sleep } from "node:timers/promises";
import { NEVER } from "./abort.js";
import { Places } from "./places.js";

/** At most this many calls are under way at once to one origin, over all clients of the process. */
export const CALLS_PER_ORIGIN = 8;

/** Lets a bounded number of calls through to one origin, and none while the origin asked for a pause. */
class OriginGate {
  #pausedUntil = 0;
  readonly #places = new Places(CALLS_PER_ORIGIN);

  /** Runs `call` in a free place. Rejects with the signal's reason if that fires while it waits. */
  async pass<T>(call: () => Promise<T>, signal: AbortSignal = NEVER): Promise<T> {
    await this.#places.enter(signal);
    try {
      await this.#waitOutPause(signal);
      return await call();
    } finally {
      this.#places.leave();
    }
  }

  /** Holds back every call that has not begun for this many milliseconds. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, Date.now() + ms);
  }

  async #waitOutPause(signal: AbortSignal): Promise<void> {
    for (let ms = this.#pausedUntil - Date.now(); ms > 0; ms = this.#pausedUntil - Date.now()) {
      await sleep(ms, undefined, { signal });
    }
  }
}

const gates = new Map<string, OriginGate>();

/** The one gate of an origin in this process. */
export function gateOf(origin: string): OriginGate {
  let gate = gates.get(origin);
  if (!gate) gates.set(origin, (gate = new OriginGate()));
  return gate;
}
