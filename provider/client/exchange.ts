import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";

/** A body is larger than what its reader takes. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** How far an exchange came; it counts when the exchange fails. */
export interface ExchangeProgress {
  /** The request was begun to be written: from here on, the other side may have taken it. */
  sent: boolean;
  /** The status of the answer's head; 0 before it. */
  status: number;
}

export const newProgress = (): ExchangeProgress => ({ sent: false, status: 0 });

export interface ExchangeOptions {
  dispatcher: Dispatcher;
  signal: AbortSignal;
  /** The largest answer that is read. */
  limitBytes: number;
  /** Sent beside the headers of JSON. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Kept up to date. */
  progress?: ExchangeProgress | undefined;
}

const JSON_HEADERS = { "content-type": "application/json", accept: "application/json" };

/**
 * Posts JSON and reads the answer whole. Rejects with the signal's reason as soon as it fires, also while the connection is
 * being made, and with a BodyTooLargeError past the limit; the connection then ends.
 */
export async function exchange(
  { origin, pathname, search }: URL,
  body: object,
  { dispatcher, signal, limitBytes, headers, progress }: ExchangeOptions,
): Promise<Answer> {
  const reader = new AnswerReader(limitBytes, progress);
  const giveUp = (): void => reader.giveUp(signal.reason as Error);
  signal.throwIfAborted();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    dispatcher.dispatch(
      {
        origin,
        path: pathname + search,
        method: "POST",
        headers: { ...JSON_HEADERS, ...headers },
        body: JSON.stringify(body),
      },
      reader,
    );
    return await reader.answer;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/** Collects an answer. undici's own `request` hands out a stream, which costs more than all the rest of a call. */
class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #limitBytes: number;
  readonly #progress: ExchangeProgress;
  readonly #settled = Promise.withResolvers<Answer>();
  readonly #chunks: Buffer[] = [];
  #lengthBytes = 0;
  #headers: IncomingHttpHeaders = {};
  #controller: Dispatcher.DispatchController | undefined;
  #reason: Error | undefined;

  constructor(limitBytes: number, progress = newProgress()) {
    this.#limitBytes = limitBytes;
    this.#progress = progress;
  }

  get answer(): Promise<Answer> {
    return this.#settled.promise;
  }

  giveUp(reason: Error): void {
    this.#reason = reason;
    this.#settled.reject(reason);
    this.#controller?.abort(reason);
  }

  /** Comes when there is a connection, TLS included, and right before the first byte is written to it. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#reason) controller.abort(this.#reason);
    else this.#progress.sent = true;
  }

  /** Comes once more for each 1xx before the answer: the last one counts. */
  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#progress.status = status;
    this.#headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#lengthBytes += chunk.length;
    if (this.#lengthBytes <= this.#limitBytes) this.#chunks.push(chunk);
    else this.giveUp(new BodyTooLargeError(`the body is larger than ${this.#limitBytes} bytes`));
  }

  onResponseEnd(): void {
    const text = Buffer.concat(this.#chunks).toString("utf8");
    this.#settled.resolve({ status: this.#progress.status, headers: this.#headers, text });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settled.reject(error);
  }
}
