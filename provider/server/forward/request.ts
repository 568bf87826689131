import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { connectionCode } from "../../lib/post.js";
import { DELIVERY_ID_HEADER, endToEndHeaders, judgeForward } from "../../responder/forwarding.js";
import type { AcceptedDelivery } from "../spool/rows.js";

/**
 * What came of one attempt. `delivered`: answered with 2xx. `refused`: the target does not want this message, and would
 * not the next time. `failed`: it may work later. `abandoned`: the signal fired before an answer.
 */
export type ForwardOutcome =
  | { kind: "delivered" }
  | { kind: "refused"; failure: string }
  | { kind: "failed"; failure: string; retryAfterMs: number }
  | { kind: "abandoned" };

export interface ForwardRequestOptions {
  url: URL;
  dispatcher: Dispatcher;
  /** For the whole attempt, the connection and the answer's body included. */
  timeoutMs: number;
  /** Ends the attempt at once. */
  signal: AbortSignal;
}

/** An answer's body is not used; a longer one costs its connection. */
const ANSWER_LIMIT_BYTES = 64 * 1024;

const TIMED_OUT = new Error("the time limit of the attempt has passed");

/**
 * Posts a delivery once: the body byte for byte, the end-to-end headers as they came, and `x-apichat-delivery-id`. A
 * redirect is not followed. Never rejects.
 */
export async function forwardRequest(
  delivery: Pick<AcceptedDelivery, "id" | "headers" | "body">,
  { url: { origin, pathname, search }, dispatcher, timeoutMs, signal }: ForwardRequestOptions,
): Promise<ForwardOutcome> {
  const reader = new StatusReader();
  const abandon = (): void => reader.giveUp(new Error("abandoned"));
  const timer = setTimeout(() => reader.giveUp(TIMED_OUT), timeoutMs);
  signal.addEventListener("abort", abandon, { once: true });
  if (signal.aborted) abandon();
  try {
    dispatcher.dispatch(
      {
        origin,
        path: pathname + search,
        method: "POST",
        headers: [...endToEndHeaders(delivery.headers), [DELIVERY_ID_HEADER, delivery.id]].flat(),
        body: delivery.body,
      },
      reader,
    );
    return judgeAnswer(await reader.head);
  } catch (error) {
    if (signal.aborted) return { kind: "abandoned" };
    return { kind: "failed", failure: describeFailure(error, timeoutMs), retryAfterMs: 0 };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abandon);
  }
}

function judgeAnswer({ status, retryAfter }: AnswerHead): ForwardOutcome {
  const verdict = judgeForward(status, retryAfter);
  if (verdict.kind === "done") return { kind: "delivered" };
  if (verdict.kind === "refused") return { kind: "refused", failure: `HTTP ${status}` };
  const redirects = status >= 300 && status < 400 ? ", a redirect, which is not followed" : "";
  const retryAfterMs = verdict.retryAfterSeconds * 1000;
  return { kind: "failed", failure: `HTTP ${status}${redirects}`, retryAfterMs };
}

/** By its code: an error's text may hold what the target sent. */
function describeFailure(error: unknown, timeoutMs: number): string {
  if (error === TIMED_OUT) return `no answer in ${timeoutMs / 1000} s`;
  return `no answer: ${connectionCode(error) || (error instanceof Error ? error.name : "unknown error")}`;
}

interface AnswerHead {
  status: number;
  retryAfter: string | undefined;
}

/** Waits for an answer's end, so that its connection can be used again. Its status counts even if the end never comes. */
class StatusReader implements Dispatcher.DispatchHandler {
  readonly #settled = Promise.withResolvers<AnswerHead>();
  #head: AnswerHead | undefined;
  #lengthBytes = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #reason: Error | undefined;

  get head(): Promise<AnswerHead> {
    return this.#settled.promise;
  }

  giveUp(reason: Error): void {
    this.#reason = reason;
    this.#end(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#reason) controller.abort(this.#reason);
  }

  /** Comes once more for each 1xx before the answer. */
  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status >= 200) this.#head = { status, retryAfter: headers["retry-after"] };
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#lengthBytes += chunk.length;
    if (this.#lengthBytes > ANSWER_LIMIT_BYTES) this.giveUp(new Error("the answer is too long"));
  }

  onResponseEnd(): void {
    this.#end(new Error("the answer has no status"));
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#end(error);
  }

  #end(reason: Error): void {
    if (this.#head) this.#settled.resolve(this.#head);
    else this.#settled.reject(reason);
  }
}
