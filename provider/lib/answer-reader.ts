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

export interface AnswerReaderOptions {
  /** The largest body that is read. */
  limitBytes: number;
  /** What a longer one means: a BodyTooLargeError, or an answer that is cut there. The connection ends in both cases. */
  beyondLimit: "reject" | "cut";
  /** Kept up to date. */
  progress?: ExchangeProgress | undefined;
}

/** Collects an answer. undici's own `request` hands out a stream, which costs more than all the rest of a call. */
export class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #limitBytes: number;
  readonly #beyondLimit: "reject" | "cut";
  readonly #progress: ExchangeProgress;
  readonly #settled = Promise.withResolvers<Answer>();
  readonly #chunks: Buffer[] = [];
  #lengthBytes = 0;
  #headers: IncomingHttpHeaders = {};
  #controller: Dispatcher.DispatchController | undefined;
  #reason: Error | undefined;

  constructor({ limitBytes, beyondLimit, progress = newProgress() }: AnswerReaderOptions) {
    this.#limitBytes = limitBytes;
    this.#beyondLimit = beyondLimit;
    this.#progress = progress;
  }

  /** Rejects if there is no answer, or only a part of one. */
  get answer(): Promise<Answer> {
    return this.#settled.promise;
  }

  /** Ends the request, also before it has a connection. */
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
    if (this.#lengthBytes <= this.#limitBytes) {
      this.#chunks.push(chunk);
      return;
    }
    if (this.#beyondLimit === "cut") {
      this.#chunks.push(chunk.subarray(0, chunk.length - (this.#lengthBytes - this.#limitBytes)));
      this.onResponseEnd();
    }
    this.giveUp(new BodyTooLargeError(`the body is larger than ${this.#limitBytes} bytes`));
  }

  onResponseEnd(): void {
    const text = Buffer.concat(this.#chunks).toString("utf8");
    this.#settled.resolve({ status: this.#progress.status, headers: this.#headers, text });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settled.reject(error);
  }
}
