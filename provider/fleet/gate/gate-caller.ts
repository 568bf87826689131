import type { Socket } from "node:net";
import { gateRequest, readMessages, writeMessage, type GateRequest } from "../../client/shared-gate.js";
import {
  CallRefusedError,
  type Answer429,
  type CallPlace,
  type SharedGate,
} from "../../client/origin-gate.js";

type EnterRequest = Extract<GateRequest, { type: "enter" }>;

/** Answers one connected process: takes places for it, and takes them back when its connection ends. */
export class GateCaller {
  readonly #socket: Socket;
  readonly #gate: SharedGate;
  readonly #onNonsense: () => void;
  /** What waits for a place, by the id that the process gave it. */
  readonly #waiting = new Map<number, AbortController>();
  readonly #held = new Map<number, CallPlace>();

  constructor(socket: Socket, gate: SharedGate, onNonsense: () => void) {
    this.#socket = socket;
    this.#gate = gate;
    this.#onNonsense = onNonsense;
    readMessages(socket, { shape: gateRequest, onMessage: (message) => this.#take(message), onNonsense });
    // A process that was killed may reset its connection; "close" follows.
    socket.on("error", () => undefined);
    socket.on("close", () => this.#leaveAll());
  }

  #take(request: GateRequest): void {
    if (request.type === "enter") void this.#enter(request);
    else this.#leave(request.id, request.answer429);
  }

  async #enter({ id, origin, operation }: EnterRequest): Promise<void> {
    // The place of the first could not be given back any more.
    if (this.#waiting.has(id) || this.#held.has(id)) return this.#end();
    const giveUp = new AbortController();
    this.#waiting.set(id, giveUp);
    const place = await this.#waitForPlace({ id, origin, operation }, giveUp.signal);
    this.#waiting.delete(id);
    // It may have been left in the moment between.
    if (giveUp.signal.aborted) return place?.leave();
    if (!place) return;
    this.#held.set(id, place);
    writeMessage(this.#socket, { type: "entered", id });
  }

  /** Undefined if the call was refused, which is told, or left before it got a place. */
  async #waitForPlace(
    { id, ...call }: Omit<EnterRequest, "type">,
    signal: AbortSignal,
  ): Promise<CallPlace | undefined> {
    try {
      return await this.#gate.enter(call, signal);
    } catch (error) {
      if (error instanceof CallRefusedError) {
        writeMessage(this.#socket, { type: "refused", id, reason: error.message });
      } else if (!signal.aborted) throw error;
      return undefined;
    }
  }

  /** One that is not known was refused just now. */
  #leave(id: number, answer429?: Answer429): void {
    this.#waiting.get(id)?.abort();
    const place = this.#held.get(id);
    this.#held.delete(id);
    place?.leave(answer429);
  }

  #end(): void {
    this.#socket.destroy();
    this.#onNonsense();
  }

  #leaveAll(): void {
    for (const id of [...this.#waiting.keys(), ...this.#held.keys()]) this.#leave(id);
  }
}
