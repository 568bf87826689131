import { anySignal, NEVER } from "../../lib/abort.js";
import {
  CallRefusedError,
  OriginGate,
  type Answer429,
  type CallPlace,
  type GatedCall,
  type SharedGate,
} from "../../client/origin-gate.js";

/** A 429 that names no time holds every call back for so long: else the next ones would spend the budget at once. */
const LEAST_PAUSE_MS = 1_000;

export interface RunGateOptions {
  /** How many calls to one origin are under way at once. */
  callsPerOrigin: number;
  /** After so many answers with HTTP 429 no further call is let through. */
  most429: number;
  /** Called once, when that is so. */
  onBudgetSpent: () => void;
}

/** Lets the calls of one run through: a bounded number to each origin by the order of asking, and counts them. */
export class RunGate implements SharedGate {
  readonly #options: RunGateOptions;
  readonly #origins = new Map<string, OriginGate>();
  readonly #calls = new Map<string, number>();
  /** Fires with the refusal when the budget is spent. */
  readonly #spent = new AbortController();
  #answers429 = 0;

  constructor(options: RunGateOptions) {
    this.#options = options;
  }

  async enter({ origin, operation }: GatedCall, signal: AbortSignal = NEVER): Promise<CallPlace> {
    const gate = this.#gateOf(origin);
    const release = await gate.acquire(anySignal(this.#spent.signal, signal === NEVER ? undefined : signal));
    this.#calls.set(operation, (this.#calls.get(operation) ?? 0) + 1);
    let isHeld = true;
    return {
      leave: (answer429) => {
        if (!isHeld) return;
        isHeld = false;
        // First, so that whoever gets the place next waits too.
        if (answer429) this.#take429(gate, answer429);
        release();
      },
    };
  }

  /** How many places were given, by operation. */
  calls(): Record<string, number> {
    return Object.fromEntries(this.#calls);
  }

  /** How many calls were answered with HTTP 429. */
  answers429(): number {
    return this.#answers429;
  }

  #gateOf(origin: string): OriginGate {
    let gate = this.#origins.get(origin);
    if (!gate) this.#origins.set(origin, (gate = new OriginGate(this.#options.callsPerOrigin)));
    return gate;
  }

  #take429(gate: OriginGate, { pauseMs }: Answer429): void {
    this.#answers429 += 1;
    gate.pause(Math.max(pauseMs, LEAST_PAUSE_MS));
    if (this.#answers429 < this.#options.most429 || this.#spent.signal.aborted) return;
    this.#spent.abort(new CallRefusedError(describeSpent(this.#answers429)));
    this.#options.onBudgetSpent();
  }
}

const describeSpent = (answers: number): string =>
  `the service answered ${answers} ${answers === 1 ? "call" : "calls"} with HTTP 429, which is the run's budget; ` +
  "wait, then go on with --resume, or raise --most-429";
