import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { HttpReply } from "./records.js";

const LIMIT_BYTES = 64 * 1024;

/** Collects an answer, at most 64 KiB of it. undici's own `request` hands out a stream, which takes longer. */
export class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #settled = Promise.withResolvers<HttpReply>();
  readonly #chunks: Buffer[] = [];
  #lengthBytes = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #controller: Dispatcher.DispatchController | undefined;
  #reason: Error | undefined;

  /** Rejects if there is no answer, or only a part of one. */
  get answer(): Promise<HttpReply> {
    return this.#settled.promise;
  }

  /** Ends the request, also before it has a connection. */
  giveUp(reason: Error): void {
    this.#reason = reason;
    this.#settled.reject(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#reason) controller.abort(this.#reason);
  }

  /** Comes once more for each 1xx before the answer: the last one counts. */
  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#lengthBytes += chunk.length;
    if (this.#lengthBytes <= LIMIT_BYTES) return;
    this.onResponseEnd();
    controller.abort(new Error("the answer is too long"));
  }

  onResponseEnd(): void {
    const headers = Object.entries(this.#headers).map(([name, value]) => [name, String(value)]);
    this.#settled.resolve({
      status: this.#status,
      headers: Object.fromEntries(headers),
      body: Buffer.concat(this.#chunks).subarray(0, LIMIT_BYTES).toString("utf8"),
    });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settled.reject(error);
  }
}
