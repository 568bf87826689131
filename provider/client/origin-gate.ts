import { setTimeout as sleep } from "node:timers/promises";
import { NEVER } from "./abort.js";
import { Places } from "./places.js";

/** At most this many calls are under way at once to one origin, over all clients of the process. */
export const CALLS_PER_ORIGIN = 8;

/** Lets a bounded number of calls through to one origin, and none while the origin asked for a pause. */
export class OriginGate {
  #pausedUntil = 0;
  readonly #places: Places;

  constructor(callsAtOnce: number) {
    this.#places = new Places(callsAtOnce);
  }

  /** Runs `call` in a free place. Rejects with the signal's reason if that fires while it waits. */
  async pass<T>(call: () => Promise<T>, signal: AbortSignal = NEVER): Promise<T> {
    await this.enter(signal);
    try {
      return await call();
    } finally {
      this.leave();
    }
  }

  /** Takes a place when one is free and no pause holds. Rejects with the signal's reason if that fires first. */
  async enter(signal: AbortSignal = NEVER): Promise<void> {
    await this.#places.enter(signal);
    try {
      await this.#waitOutPause(signal);
    } catch (error) {
      this.leave();
      signal.throwIfAborted();
      throw error;
    }
  }

  /** Gives a place back. */
  leave(): void {
    this.#places.leave();
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
  if (!gate) gates.set(origin, (gate = new OriginGate(CALLS_PER_ORIGIN)));
  return gate;
}
