import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";

/** How much of an answer's body is read: a challenge is shorter, and a quotation too. */
const READ_BYTES = 4096;

/** How far an exchange has come: a time limit means something else in each phase. */
export type ExchangePhase = "connecting" | "sent" | "answering";

/** The start of an answer. */
export interface AnswerStart {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Whether `body` is all of it. */
  isWhole: boolean;
}

/** The exchange failed in this phase; the cause is undici's or the system's error, or the signal's reason. */
export class ExchangeError extends Error {
  override readonly name = "ExchangeError";
  readonly phase: ExchangePhase;

  constructor(phase: ExchangePhase, cause: unknown) {
    super(`failed while ${phase}`, { cause });
    this.phase = phase;
  }
}

export interface ExchangeRequest {
  url: string;
  headers: Record<string, string>;
  body: string | null;
  dispatcher: Dispatcher;
  signal: AbortSignal;
}

/** Posts once and reads the start of the answer. Rejects with an ExchangeError, also as soon as the signal fires. */
export async function exchange(request: ExchangeRequest): Promise<AnswerStart> {
  const { headers, body, dispatcher, signal } = request;
  const { origin, pathname, search } = new URL(request.url);
  const reader = new AnswerReader();
  const giveUp = (): void => reader.giveUp(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    if (signal.aborted) giveUp();
    else dispatcher.dispatch({ origin, path: pathname + search, method: "POST", headers, body }, reader);
    return await reader.answer;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/** Collects the start of an answer, and knows how far the exchange has come, which undici's own `request` does not tell. */
class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #settled = Promise.withResolvers<AnswerStart>();
  readonly #chunks: Buffer[] = [];
  #phase: ExchangePhase = "connecting";
  #readBytes = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #controller: Dispatcher.DispatchController | undefined;
  #end: Error | undefined;

  get answer(): Promise<AnswerStart> {
    return this.#settled.promise;
  }

  giveUp(reason: unknown): void {
    this.#settled.reject(new ExchangeError(this.#phase, reason));
    this.#disconnect();
  }

  /** Comes once the connection is there, and so after a time limit while connecting. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#phase = "sent";
    if (this.#end) controller.abort(this.#end);
  }

  /** Comes once more for each 1xx before the answer: the last one counts. */
  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#phase = "answering";
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#readBytes += chunk.length;
    if (this.#readBytes <= READ_BYTES) return;
    this.#settle(false);
    this.#disconnect();
  }

  onResponseEnd(): void {
    this.#settle(true);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settled.reject(new ExchangeError(this.#phase, error));
  }

  #settle(isWhole: boolean): void {
    const body = Buffer.concat(this.#chunks).subarray(0, READ_BYTES);
    this.#settled.resolve({ status: this.#status, headers: this.#headers, body, isWhole });
  }

  #disconnect(): void {
    this.#end = new Error("the exchange has ended");
    this.#controller?.abort(this.#end);
  }
}
