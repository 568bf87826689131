/** What a delivery says at the end of its turn: it is through, or it wants to go after the next one. */
export type TurnEnd = "through" | "after-next";

/** One delivery. `overtakes` is true when the one before it waits until this one is through, or this one has waited. */
export type DeliveryTurn = (overtakes: boolean) => Promise<TurnEnd>;

/** How long a delivery that wants to go after the next one waits for it. */
const NEXT_WAIT_MS = 1000;

/**
 * What a conversation does one thing after the other: the answers of its flow, and its deliveries in the order in which they
 * were added. Different conversations do not wait for each other.
 */
export class ConversationTurns {
  /** When the last reply is due, in milliseconds since 1970: the pause of the next one counts from there. */
  lastDueMs = 0;
  readonly #waiting: DeliveryTurn[] = [];
  readonly #ending = new AbortController();
  #until: AbortSignal | undefined;
  #lastAnswer: Promise<void> = Promise.resolve();
  #work: Promise<void> | undefined;
  #tellArrival = (): void => {};

  /** Signals the end of the emulator, or of the conversation. */
  until(closing: AbortSignal): AbortSignal {
    this.#until ??= AbortSignal.any([closing, this.#ending.signal]);
    return this.#until;
  }

  /** Nothing more is answered or delivered. Resolves when no try of a delivery is under way. */
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
  deliver(turn: DeliveryTurn, closing: AbortSignal): void {
    this.#waiting.push(turn);
    this.#tellArrival();
    this.#work ??= this.#takeTurns(this.until(closing));
  }

  async #takeTurns(until: AbortSignal): Promise<void> {
    let overtakes = false;
    for (let turn = this.#waiting.shift(); turn; turn = this.#waiting.shift()) {
      const end = await takeTurn(turn, overtakes);
      overtakes = end === "after-next" && (await this.#hasNext(until));
      if (end === "after-next") this.#waiting.splice(overtakes ? 1 : 0, 0, () => turn(true));
    }
    this.#work = undefined;
  }

  /** Waits a while for one to be added. */
  async #hasNext(until: AbortSignal): Promise<boolean> {
    if (this.#waiting.length === 0 && !until.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const stop = (): void => resolve();
      const timer = setTimeout(stop, NEXT_WAIT_MS);
      until.addEventListener("abort", stop);
      this.#tellArrival = stop;
      await promise;
      clearTimeout(timer);
      until.removeEventListener("abort", stop);
    }
    return this.#waiting.length > 0;
  }
}

/** A turn that throws is a defect of the emulator or of a listener: those behind it go on, and the process is told. */
async function takeTurn(turn: DeliveryTurn, overtakes: boolean): Promise<TurnEnd> {
  try {
    return await turn(overtakes);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
    return "through";
  }
}
