import type { AttemptFailure } from "./attempt.js";
import type { ExchangeProgress } from "../lib/answer-reader.js";
import { FLOW_KEY_HINT } from "./key-presentation.js";
import type { Hints } from "./operation.js";
import type { RetryVerdict } from "./retry.js";

/**
 * Which failed attempts are repeated. `unsent`: only those of which the service cannot have taken the message: no connection,
 * 429, 503. `any`: also 408, 500, 502, 504, and a connection that is lost after the message was sent; as the specification
 * has no idempotency key, the contact's message may then stand there twice.
 */
export type MessageRetry = "unsent" | "any";

/** Answers that say: not taken, come again later. */
const NOT_TAKEN_STATUS = new Set([429, 503]);

/** Answers that leave open whether the message was taken. */
const OPEN_STATUS = new Set([408, 500, 502, 504]);

/** Whether an attempt is repeated. */
export function judgeMessage(
  failure: AttemptFailure,
  progress: ExchangeProgress,
  policy: MessageRetry,
): RetryVerdict {
  const notTaken = !progress.sent || NOT_TAKEN_STATUS.has(progress.status);
  return notTaken || policy === "any" ? failure : { retry: false };
}

/** What to do next; `progressOf` gives that of the last attempt. */
export const messageHints = (progressOf: () => ExchangeProgress): Hints => ({
  onTimeout: () =>
    progressOf().sent
      ? `. ${MAY_BE_TAKEN}; raise requestSeconds if the service is slow`
      : ". The message was not sent; raise requestSeconds if the service is slow",
  onFailure: (failure) => hintFor(failure, progressOf()),
});

const MAY_BE_TAKEN =
  "The message was sent, and the service may have taken it: sent once more, it may reach the conversation twice";

function hintFor({ code, httpStatus }: AttemptFailure, { sent, status }: ExchangeProgress): string {
  if (code === "unauthorized") return `. ${FLOW_KEY_HINT}`;
  if (code === "rejected" && (httpStatus === 404 || httpStatus === 410)) {
    return ". botUrl may be outdated: read it again with getWebhook";
  }
  if (!sent) return ". The message was not sent. Check botUrl, or try again when the service is up";
  const open = httpStatus === undefined ? !NOT_TAKEN_STATUS.has(status) : OPEN_STATUS.has(httpStatus);
  return open ? `. ${MAY_BE_TAKEN}` : "";
}
