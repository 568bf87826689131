import { connect, type Socket } from "node:net";
import { NEVER } from "../lib/abort.js";
import { gateAnswer, LONGEST_PAUSE_MS, readMessages, writeMessage, type GateAnswer } from "./gate-wire.js";
import {
  CallRefusedError,
  type Answer429,
  type CallPlace,
  type GatedCall,
  type SharedGate,
} from "./shared-gate.js";

/** The place of a call that nobody counts. */
const UNCOUNTED: CallPlace = { leave: () => undefined };

/** How the wait for a place ended: with an answer, or `gone` because nobody is there any more to give one. */
type Outcome = GateAnswer | "gone";

/**
 * The gate of another process, over its socket. If that process cannot be reached, or ends, every call goes through, also
 * those that wait: what is under way must finish. It is not tried again.
 */
export class GateConnection implements SharedGate {
  readonly #socket: Socket;
  /** What waits for a place. */
  readonly #waiting = new Map<number, (outcome: Outcome) => void>();
  #lastId = 0;
  #isGone = false;
  /** A refusal lasts, also when the gate is gone. */
  #refusal: string | undefined;

  constructor(path: string) {
    this.#socket = connect(path).unref();
    readMessages(this.#socket, {
      shape: gateAnswer,
      onMessage: (answer) => this.#settle(answer),
      onNonsense: () => this.#goOnAlone(),
    });
    // Whatever the error is, "close" follows.
    this.#socket.on("error", () => undefined);
    this.#socket.on("close", () => this.#goOnAlone());
  }

  async enter(call: GatedCall, signal: AbortSignal = NEVER): Promise<CallPlace> {
    signal.throwIfAborted();
    if (this.#refusal !== undefined) throw new CallRefusedError(this.#refusal);
    if (this.#isGone) return UNCOUNTED;
    const id = (this.#lastId += 1);
    const outcome = await this.#ask(id, call, signal);
    if (outcome === "gone") return UNCOUNTED;
    if (outcome.type === "refused") throw new CallRefusedError(outcome.reason);
    return { leave: (answer429) => this.#leave(id, answer429) };
  }

  async #ask(id: number, { origin, operation }: GatedCall, signal: AbortSignal): Promise<Outcome> {
    // The socket alone never keeps the process alive, but a call that waits does.
    this.#socket.ref();
    try {
      return await new Promise<Outcome>((resolve, reject) => {
        const giveUp = (): void => {
          this.#waiting.delete(id);
          this.#leave(id);
          reject(signal.reason as Error);
        };
        this.#waiting.set(id, (outcome) => {
          signal.removeEventListener("abort", giveUp);
          resolve(outcome);
        });
        signal.addEventListener("abort", giveUp, { once: true });
        writeMessage(this.#socket, { type: "enter", id, origin, operation });
      });
    } finally {
      if (this.#waiting.size === 0) this.#socket.unref();
    }
  }

  #leave(id: number, answer429?: Answer429): void {
    const told = answer429 && { pauseMs: Math.min(Math.ceil(answer429.pauseMs), LONGEST_PAUSE_MS) };
    writeMessage(this.#socket, { type: "leave", id, ...(told && { answer429: told }) });
  }

  /** Nobody waits any more if the call gave up just now; then its place is given back already. */
  #settle(answer: GateAnswer): void {
    if (answer.type === "refused") this.#refusal = answer.reason;
    const settle = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    settle?.(answer);
  }

  #goOnAlone(): void {
    this.#isGone = true;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const settle of waiting) settle("gone");
  }
}
