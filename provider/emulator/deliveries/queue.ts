import { pause } from "../service/outgoing.js";

/** How a delivery's turn ends: it is done, or it must wait until after the next one. */
export type TurnEnd = "done" | "after-next";

interface Turn {
  /** Performs the delivery. If `again`, no other delivery may overtake this one any more. */
  perform: (again: boolean) => Promise<TurnEnd>;
  finish: () => void;
}

/** How many milliseconds a delivery to be reordered waits for another one, which is then sent first. */
const NEXT_WAIT_MS = 1000;

/** Performs the deliveries of a conversation, one at a time. Conversations do not wait for each other. */
export class ConversationQueue {
  /** Fires when the emulator closes or the conversation is removed. */
  readonly ended: AbortSignal;
  readonly #ending = new AbortController();
  readonly #waiting: Turn[] = [];
  #work: Promise<void> | undefined;
  #reportArrival = (): void => {};

  constructor(closing: AbortSignal) {
    this.ended = AbortSignal.any([closing, this.#ending.signal]);
  }

  /** Ends all deliveries. Resolves when no attempt is in progress. */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#work;
  }

  /** Adds a delivery; `perform` must check `ended`. Resolves when the delivery is done; never rejects. */
  deliver(perform: Turn["perform"]): Promise<void> {
    const { promise, resolve: finish } = Promise.withResolvers<void>();
    this.#waiting.push({ perform, finish });
    this.#reportArrival();
    this.#work ??= this.#deliverAll();
    return promise;
  }

  async #deliverAll(): Promise<void> {
    for (let turn = this.#waiting.shift(); turn; turn = this.#waiting.shift()) {
      if ((await takeTurn(turn, false)) === "done") continue;
      const next = await this.#waitForNext();
      if (next) await takeTurn(next, true);
      await takeTurn(turn, true);
    }
    this.#work = undefined;
  }

  async #waitForNext(): Promise<Turn | undefined> {
    if (this.#waiting.length === 0) {
      const arrival = new Promise<void>((resolve) => (this.#reportArrival = resolve));
      await Promise.race([arrival, pause(NEXT_WAIT_MS, this.ended)]);
    }
    return this.#waiting.shift();
  }
}

async function takeTurn({ perform, finish }: Turn, again: boolean): Promise<TurnEnd> {
  try {
    if ((await perform(again)) === "after-next") return "after-next";
  } catch (error) {
    // A bug in the emulator or a listener must not stop the deliveries that are still waiting.
    process.emitWarning(error instanceof Error ? error : String(error));
  }
  finish();
  return "done";
}
