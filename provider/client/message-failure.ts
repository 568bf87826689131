import type { InboundMessage } from "../../schema/inbound.js";
import type { Hint } from "../errors/index.js";
import { MASK, quote, createRedactor } from "../lib/redact.js";
import type { RetryVerdict } from "../lib/retry.js";
import type { AttemptFailure } from "./attempt.js";

/**
 * Which failed attempts are repeated. `unsent`: only those of which the service cannot have taken the message: no connection,
 * 429, 503. `any`: also 408, 500, 502, 504, and a connection that is lost after the message was sent; as the specification
 * has no idempotency key, the contact's message may then stand there twice.
 */
export type MessageRetry = "unsent" | "any";

/** Whether an attempt is repeated. */
export const judgeMessage = (failure: AttemptFailure, policy: MessageRetry): RetryVerdict =>
  policy === "any" || !failure.mayBeTaken ? failure : { retry: false };

/** What to do next. */
export function hintsForMessage({ code, httpStatus, unsent, mayBeTaken }: AttemptFailure): Hint[] {
  if (code === "timeout") {
    return [{ id: unsent ? "message_not_sent" : "message_may_be_taken" }, { id: "raise_request_seconds" }];
  }
  if (code === "unauthorized") return [{ id: "check_flow_api_key" }];
  if (code === "rejected" && (httpStatus === 404 || httpStatus === 410)) {
    return [{ id: "read_bot_url" }];
  }
  if (unsent) return [{ id: "message_not_sent" }, { id: "check_connection", address: "botUrl" }];
  return mayBeTaken ? [{ id: "message_may_be_taken" }] : [];
}

/** A shorter text is taken out where it stands as words: inside of others it would black out innocent ones. */
const TELLING_CHARACTERS = 8;

/** A longer text is known by its beginning: a pattern of all of it takes too long. */
const HEAD_CHARACTERS = 100;

/**
 * Quotes what the service said about a message, for an error: without the keys, and without what the message says and who
 * sent it. What follows the beginning of a long text is dropped.
 */
export function quoteAboutMessage(text: string, message: InboundMessage, keys: readonly string[]): string {
  const texts = textsOf(message);
  const long = texts.filter(({ length }) => length > HEAD_CHARACTERS);
  const middle = texts.filter(({ length }) => length >= TELLING_CHARACTERS && length <= HEAD_CHARACTERS);
  const short = texts.filter(({ length }) => length < TELLING_CHARACTERS);
  const headed = long.reduce(cutAtHead, text);
  return quote(hideWords(createRedactor([...keys, ...middle])(headed), short), []);
}

function textsOf(message: InboundMessage): string[] {
  const { content, sender } = message;
  const buttons = "submitted_values" in message ? message.submitted_values : [];
  const media = "attachments" in message ? message.attachments : [];
  return [
    content,
    sender.id,
    sender.name,
    ...buttons.flatMap(({ title, payload }) => [title, payload]),
    ...media.map(({ data_url }) => data_url),
  ];
}

function cutAtHead(text: string, long: string): string {
  const hidden = createRedactor([long.slice(0, HEAD_CHARACTERS)])(text);
  return hidden === text ? text : hidden.slice(0, hidden.indexOf(MASK) + MASK.length);
}

const WORD = /[\p{L}\p{N}]+/gu;

function hideWords(text: string, texts: readonly string[]): string {
  const words = new Set(texts.flatMap((short) => short.toLowerCase().match(WORD) ?? []));
  if (words.size === 0) return text;
  return text.replace(WORD, (word) => (words.has(word.toLowerCase()) ? MASK : word));
}
