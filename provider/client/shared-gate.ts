import { connect, type Socket } from "node:net";
import * as z from "zod";
import { NEVER } from "../lib/abort.js";
import {
  CallRefusedError,
  type Answer429,
  type CallPlace,
  type GatedCall,
  type SharedGate,
} from "./origin-gate.js";

/** Longer than any line that is sent. Whoever sends a longer one is cut off. */
const LINE_LIMIT = 8 * 1024;

/** The longest pause that can be reported. */
const LONGEST_PAUSE_MS = 24 * 60 * 60 * 1000;

const callId = z.int().min(1);

/** What a process says to the gate: `leave` gives a place back, or gives up waiting for it. */
export const gateRequest = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("enter"),
    /** Names the place until it is left. Used once in a connection. */
    id: callId,
    origin: z.string().min(1).max(2048),
    operation: z.string().regex(/^[a-z-]{1,40}$/),
  }),
  z.strictObject({
    type: z.literal("leave"),
    id: callId,
    answer429: z.strictObject({ pauseMs: z.int().min(0).max(LONGEST_PAUSE_MS) }).optional(),
  }),
]);

/** What the gate says to a process. */
const gateAnswer = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("entered"), id: callId }),
  z.strictObject({ type: z.literal("refused"), id: callId, reason: z.string().max(1024) }),
]);

export type GateRequest = z.infer<typeof gateRequest>;
export type GateAnswer = z.infer<typeof gateAnswer>;

export interface MessageReader<Message> {
  shape: z.ZodType<Message>;
  onMessage: (message: Message) => void;
  /** Called once, with the connection ended, if something else than such messages came. */
  onNonsense: () => void;
}

/** Reads messages, one JSON value a line. Ends the connection at the first line that is none. */
export function readMessages<Message>(socket: Socket, reader: MessageReader<Message>): void {
  let rest = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    const isSound = lines.every((line) => readLine(line, reader)) && rest.length <= LINE_LIMIT;
    if (isSound) return;
    socket.removeAllListeners("data");
    socket.destroy();
    reader.onNonsense();
  });
}

function readLine<Message>(line: string, { shape, onMessage }: MessageReader<Message>): boolean {
  const { success, data } = shape.safeParse(line.length <= LINE_LIMIT ? parseJson(line) : undefined);
  if (success) onMessage(data);
  return success;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Sends a message, unless the connection has ended. */
export function writeMessage(socket: Socket, message: GateRequest | GateAnswer): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
}

/** The place of a call that nobody counts. */
const UNCOUNTED: CallPlace = { leave: () => undefined };

/** How the wait for a place ended: with an answer, or `gone` because nobody is there any more to give one. */
type Outcome = GateAnswer | "gone";

/**
 * The gate of another process, over its socket. If that process cannot be reached, or ends, every call goes through, also
 * those that wait: what is in progress must finish. It is not tried again.
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
    const reported = answer429 && { pauseMs: Math.min(Math.ceil(answer429.pauseMs), LONGEST_PAUSE_MS) };
    writeMessage(this.#socket, { type: "leave", id, ...(reported && { answer429: reported }) });
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
