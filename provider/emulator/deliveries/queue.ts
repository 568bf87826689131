import { pause } from "../service/outgoing.js";

/** How a delivery's turn ends: it is done, or it wants to go after the next one. */
export type TurnEnd = "done" | "after-next";

/** One delivery. `again` is true if it must not be overtaken, because it already was or is overtaking another. */
export type DeliveryTurn = (again: boolean) => Promise<TurnEnd>;

/** How long a delivery that wants to go after the next one waits for it. */
const NEXT_WAIT_MS = 1000;

/**
 * What a conversation does one thing after the other: the answers of its flow, and its deliveries in the order in which they
 * were added. Different conversations do not wait for each other.
 */
export class ConversationQueue {
  /** When the last reply is due, in milliseconds since 1970: the pause of the next one counts from there. */
  lastDueMs = 0;
  /** Signals the end of the emulator, or of the conversation. */
  readonly ended: AbortSignal;
  readonly #ending = new AbortController();
  readonly #waiting: DeliveryTurn[] = [];
  #lastAnswer: Promise<void> = Promise.resolve();
  #work: Promise<void> | undefined;
  #reportArrival = (): void => {};

  constructor(closing: AbortSignal) {
    this.ended = AbortSignal.any([closing, this.#ending.signal]);
  }

  /** Nothing more is answered or delivered. Resolves when no try of a delivery is in progress. */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#work;
  }

  /** Runs an answer after those that were begun before it. It must not reject. */
  answer(work: () => Promise<void>): Promise<void> {
    this.#lastAnswer = this.#lastAnswer.then(work);
    return this.#lastAnswer;
  }

  /** After the end a turn still comes, to find out that there is nothing to do. */
  deliver(turn: DeliveryTurn): void {
    this.#waiting.push(turn);
    this.#reportArrival();
    this.#work ??= this.#takeTurns();
  }

  async #takeTurns(): Promise<void> {
    let overtakes = false;
    for (let turn = this.#waiting.shift(); turn; turn = this.#waiting.shift()) {
      const end = await takeTurn(turn, overtakes);
      overtakes = end === "after-next" && (await this.#hasNext());
      if (end === "after-next") this.#waiting.splice(overtakes ? 1 : 0, 0, () => turn(true));
    }
    this.#work = undefined;
  }

  /** Waits a while for one to be added. */
  async #hasNext(): Promise<boolean> {
    if (this.#waiting.length === 0) {
      const arrival = new Promise<void>((resolve) => (this.#reportArrival = resolve));
      await Promise.race([arrival, pause(NEXT_WAIT_MS, this.ended)]);
    }
    return this.#waiting.length > 0;
  }
}

/** A turn that throws is a defect of the emulator or of a listener: it is reported, and those behind it go on. */
async function takeTurn(turn: DeliveryTurn, again: boolean): Promise<TurnEnd> {
  try {
    return await turn(again);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
    return "done";
  }
}
