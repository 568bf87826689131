import type { Dispatcher } from "undici";
import { AnswerReader, type Answer, type ExchangeProgress } from "../lib/answer-reader.js";
import { USER_AGENT } from "../lib/version.js";

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

const OUR_HEADERS = {
  "content-type": "application/json",
  accept: "application/json",
  "user-agent": USER_AGENT,
};

/**
 * Posts JSON and reads the answer whole. Rejects with the signal's reason as soon as it fires, also while the connection is
 * being made, and with a BodyTooLargeError past the limit; the connection then ends.
 */
export async function exchange(
  { origin, pathname, search }: URL,
  body: object,
  { dispatcher, signal, limitBytes, headers, progress }: ExchangeOptions,
): Promise<Answer> {
  const reader = new AnswerReader({ limitBytes, beyondLimit: "reject", progress });
  const giveUp = (): void => reader.giveUp(signal.reason as Error);
  signal.throwIfAborted();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    dispatcher.dispatch(
      {
        origin,
        path: pathname + search,
        method: "POST",
        headers: { ...OUR_HEADERS, ...headers },
        body: JSON.stringify(body),
      },
      reader,
    );
    return await reader.answer;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
