import { setTimeout as sleep } from "node:timers/promises";
import { NEVER } from "./abort.js";

/** At most this many calls are under way at once to one origin, over all clients of the process. */
export const CALLS_PER_ORIGIN = 8;

/** Lets a bounded number of calls through to one origin, and none while the origin asked for a pause. */
class OriginGate {
  #free = CALLS_PER_ORIGIN;
  #pausedUntil = 0;
  readonly #waiting: (() => void)[] = [];

  /** Runs `call` in a free place. Rejects with the signal's reason if that fires while it waits. */
  async pass<T>(call: () => Promise<T>, signal: AbortSignal = NEVER): Promise<T> {
    await this.#enter(signal);
    try {
      await this.#waitOutPause(signal);
      return await call();
    } finally {
      this.#leave();
    }
  }

  /** Holds back every call that has not begun for this many milliseconds. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, Date.now() + ms);
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.push(enter);
    });
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
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
