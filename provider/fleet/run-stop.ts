import type { FleetAction } from "./reports.js";
import type { RunContext } from "./run-context.js";
import type { RunOptions } from "./run-options.js";

/** How to go on, for each action. Nothing that was done is lost. */
const NEXT: Record<FleetAction, string> = {
  plan: "nothing was changed; run plan again",
  up: "what was under way was stored; go on with up --resume",
  refresh: "what was under way was stored; run refresh again",
  destroy: "what is gone stays gone; run destroy again",
  rotate: "what was under way was stored; go on with rotate --resume",
  watch: "nothing was changed; run watch again",
};

/** Ends a run early: once, with the first reason that comes. */
export class RunStop {
  readonly #controller = new AbortController();
  readonly #action: FleetAction;
  readonly #onStop: (why: string) => void;

  constructor(action: FleetAction, onStop: (why: string) => void) {
    this.#action = action;
    this.#onStop = onStop;
  }

  /** Fires when no further stack is to begin, and those under way are to end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the run ends, and how to go on; undefined while it does not end. */
  get why(): string | undefined {
    return this.signal.aborted ? (this.signal.reason as Error).message : undefined;
  }

  /** Ends the run. `cause` is the first part of a sentence. */
  stop(cause: string): void {
    if (this.signal.aborted) return;
    const why = `${cause}: ${NEXT[this.#action]}`;
    this.#controller.abort(new Error(why));
    this.#onStop(why);
  }

  /** Ends the run as soon as the caller or the budget for HTTP 429 does. Gives what lets go of both. */
  follow({ budget, gate }: RunContext, { signal }: RunOptions): () => void {
    const onSpent = (): void =>
      this.stop(`${gate.answers429()} calls were answered with HTTP 429, the most allowed (--most-429)`);
    const onInterrupt = (): void => this.stop("interrupted");
    if (budget.aborted) onSpent();
    if (signal?.aborted === true) onInterrupt();
    budget.addEventListener("abort", onSpent);
    signal?.addEventListener("abort", onInterrupt);
    return () => {
      budget.removeEventListener("abort", onSpent);
      signal?.removeEventListener("abort", onInterrupt);
    };
  }
}
