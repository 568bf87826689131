import type { InboundMessage } from "../../schema/inbound.js";
import { orAborted } from "../lib/abort.js";
import { KeyedQueue } from "../lib/keyed-queue.js";
import { invalidOptions } from "./options.js";
import { conversationOf, type BatchMessage, type MessageReceipt, type SendOptions } from "./messages.js";

const DEFAULT_CONCURRENCY = 8;

/**
 * How many messages to read ahead per message in progress, so that one busy conversation does not stall the others
 * right away.
 */
const READ_AHEAD = 8;

/** Messages in their shape on the wire, or by their kind, such as `{ kind: "text", sender, conversationId, text }`. */
export type MessageSource<Message extends BatchMessage = InboundMessage> =
  Iterable<Message> | AsyncIterable<Message>;

/** The signal ends the whole batch. */
export interface BatchOptions<Message extends BatchMessage = InboundMessage> extends SendOptions {
  /** How many messages are in progress at once. Default 8. */
  concurrency?: number;
  /** Called with each result as soon as it is known; conversations are in no particular order. */
  onResult?: (result: BatchResult<Message>) => void;
}

interface BatchEntry<Message extends BatchMessage> {
  /** The message's place in the order given, from 0. */
  index: number;
  /** As it was given. */
  message: Message;
}

/**
 * What became of one message. `failed` may have been accepted: see the error. `skipped` was not sent: `earlier-failed`
 * if one before it in its conversation was not sent, `aborted` if the signal fired.
 */
export type BatchResult<Message extends BatchMessage = InboundMessage> = BatchEntry<Message> &
  (
    | ({
        /** What became of it. */
        outcome: "sent";
      } & MessageReceipt)
    | {
        outcome: "failed";
        /** An ApiChatError, or the signal's reason. */
        error: unknown;
      }
    | {
        outcome: "skipped";
        /** Why it was not sent. */
        because: "earlier-failed" | "aborted";
      }
  );

/**
 * Sends the messages of a source, in order within each conversation, and returns one result for each message read. Throws
 * what the source or `onResult` threw first, once every message read has its result.
 */
export async function sendInOrder<Message extends BatchMessage>(
  source: MessageSource<Message>,
  send: (message: Message) => Promise<MessageReceipt>,
  { concurrency = DEFAULT_CONCURRENCY, signal, onResult }: BatchOptions<Message> & { signal: AbortSignal },
): Promise<BatchResult<Message>[]> {
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    const text = "must be a whole number from 1";
    throw invalidOptions("sendBatch", [{ field: "concurrency", text }], "check");
  }
  const sending = limitTo(concurrency, signal);
  const reading = limitTo(concurrency * READ_AHEAD, signal);
  const conversations = new KeyedQueue();
  /** The conversations of which a message was not sent. */
  const broken = new Set<string>();
  const results: BatchResult<Message>[] = [];
  const thrown: unknown[] = [];

  const sendOne = async (entry: BatchEntry<Message>, conversation: string): Promise<BatchResult<Message>> => {
    // Only the signal ends the wait for a permit.
    const release = broken.has(conversation) ? undefined : await sending().catch(() => undefined);
    if (!release)
      return { ...entry, outcome: "skipped", because: signal.aborted ? "aborted" : "earlier-failed" };
    try {
      return { ...entry, outcome: "sent", ...(await send(entry.message)) };
    } catch (error) {
      return { ...entry, outcome: "failed", error };
    } finally {
      release();
    }
  };

  const iterator =
    Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  const close = async (): Promise<void> => void (await iterator.return?.());
  try {
    for (let index = 0; thrown.length === 0; index += 1) {
      const release = await reading();
      const next = await orAborted(Promise.resolve(iterator.next()), signal);
      if (next.done) break;
      const entry = { index, message: next.value };
      const conversation = conversationOf(entry.message);
      const done = conversations.run(conversation, async () => {
        const result = await sendOne(entry, conversation);
        if (result.outcome !== "sent") broken.add(conversation);
        results[index] = result;
        release();
        onResult?.(result);
      });
      done.catch((error: unknown) => thrown.push(error));
    }
    if (thrown.length > 0) await close();
  } catch (error) {
    if (!signal.aborted) thrown.push(error);
    // Not awaited: a generator that is still producing its next value returns only after that.
    else close().catch(() => undefined);
  }
  await conversations.idle();
  if (thrown.length > 0) throw thrown[0];
  return results;
}

/** Returns a function that waits for one of this many permits and returns what releases it. All waits end with the signal, and reject with its reason. */
function limitTo(permits: number, signal: AbortSignal): () => Promise<() => void> {
  const waiting: (() => void)[] = [];
  let free = permits;
  const release = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  return async () => {
    signal.throwIfAborted();
    if (free > 0) free -= 1;
    else await orAborted(new Promise<void>((resolve) => waiting.push(resolve)), signal);
    return release;
  };
}
