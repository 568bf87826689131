import type { InboundMessage } from "../../schema/inbound.js";
import { orAborted } from "../lib/abort.js";
import { invalidConfig } from "./options.js";
import { conversationOf, type BatchMessage, type MessageReceipt, type SendOptions } from "./messages.js";
import { Semaphore } from "./origin-gate.js";

const DEFAULT_CONCURRENCY = 8;

/** So far is an iterable read ahead, per message in progress: one busy conversation does not hold up the others at once. */
const READ_AHEAD = 8;

/** Messages in their shape on the wire, or by their kind, such as `{ kind: "text", sender, conversationId, text }`. */
export type MessageSource<Message extends BatchMessage = InboundMessage> =
  Iterable<Message> | AsyncIterable<Message>;

/** The signal ends the whole batch. */
export interface BatchOptions<Message extends BatchMessage = InboundMessage> extends SendOptions {
  /** How many messages are in progress at once. Default 8, which is also the most for one origin. */
  concurrency?: number;
  /** Told of each result as it comes, in no order between conversations. */
  onResult?: (result: BatchResult<Message>) => void;
}

interface BatchEntry<Message extends BatchMessage> {
  /** The message's place in the order given, from 0. */
  index: number;
  /** As it was given. */
  message: Message;
}

export interface SentMessage<Message extends BatchMessage = InboundMessage>
  extends BatchEntry<Message>, MessageReceipt {
  outcome: "sent";
}

export interface FailedMessage<Message extends BatchMessage = InboundMessage> extends BatchEntry<Message> {
  outcome: "failed";
  /** An ApiChatError; or the signal's reason, where it fired while the message was in progress. */
  error: unknown;
}

/** A message that was not sent. */
export interface SkippedMessage<Message extends BatchMessage = InboundMessage> extends BatchEntry<Message> {
  outcome: "skipped";
  /** `earlier-failed`: one before it in its conversation was not sent. `aborted`: the signal fired. */
  because: "earlier-failed" | "aborted";
}

export type BatchResult<Message extends BatchMessage = InboundMessage> =
  SentMessage<Message> | FailedMessage<Message> | SkippedMessage<Message>;

type Send<Message> = (message: Message) => Promise<MessageReceipt>;

/** Sends each message of a source in the order of its conversation, and gives what became of each that was read. */
export async function sendInOrder<Message extends BatchMessage>(
  source: MessageSource<Message>,
  send: Send<Message>,
  { concurrency = DEFAULT_CONCURRENCY, signal, onResult }: BatchOptions<Message> & { signal: AbortSignal },
): Promise<BatchResult<Message>[]> {
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw invalidConfig(
      "sendBatch",
      [{ field: "concurrency", text: "must be a whole number from 1" }],
      "check",
    );
  }
  return new MessageBatch(send, { concurrency, signal, onResult }).run(source);
}

interface BatchSettings<Message extends BatchMessage> {
  concurrency: number;
  signal: AbortSignal;
  onResult: ((result: BatchResult<Message>) => void) | undefined;
}

class MessageBatch<Message extends BatchMessage> {
  readonly #send: Send<Message>;
  readonly #settings: BatchSettings<Message>;
  /** For the messages in progress. */
  readonly #sending: Semaphore;
  /** For the messages that were read and have no result yet. */
  readonly #reading: Semaphore;
  readonly #results: BatchResult<Message>[] = [];
  /** Whether the last message read of a conversation was sent; a conversation with nothing left to send is forgotten. */
  readonly #conversations = new Map<string, Promise<boolean>>();
  /** What the source or `onResult` threw first. */
  #thrown: { error: unknown } | undefined;

  constructor(send: Send<Message>, settings: BatchSettings<Message>) {
    this.#send = send;
    this.#settings = settings;
    this.#sending = new Semaphore(settings.concurrency);
    this.#reading = new Semaphore(settings.concurrency * READ_AHEAD);
  }

  async run(source: MessageSource<Message>): Promise<BatchResult<Message>[]> {
    const iterator =
      Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    try {
      await this.#read(iterator);
    } catch (error) {
      if (!this.#settings.signal.aborted) this.#thrown ??= { error };
    }
    await Promise.all(this.#conversations.values());
    if (this.#thrown) throw this.#thrown.error;
    return this.#results;
  }

  async #read(iterator: Iterator<Message> | AsyncIterator<Message>): Promise<void> {
    const { signal } = this.#settings;
    const close = async (): Promise<void> => void (await iterator.return?.());
    try {
      for (let index = 0; !this.#thrown; index += 1) {
        const release = await this.#reading.acquire(signal);
        const next = await orAborted(Promise.resolve(iterator.next()), signal);
        if (next.done) return;
        this.#add({ index, message: next.value }, release);
      }
      await close();
    } finally {
      // Not awaited: a generator that is at its next value ends after that. What it throws then is of no use any more.
      if (signal.aborted) close().catch(() => undefined);
    }
  }

  /** `release` is called when the message has its result. */
  #add(entry: BatchEntry<Message>, release: () => void): void {
    const conversation = conversationOf(entry.message);
    const before = this.#conversations.get(conversation);
    const last = this.#sendAfter(before, entry).then((sent) => {
      release();
      if (sent && this.#conversations.get(conversation) === last) this.#conversations.delete(conversation);
      return sent;
    });
    this.#conversations.set(conversation, last);
  }

  /** Sends a message when the one before it is sent; gives whether it was sent. Never rejects. */
  async #sendAfter(before: Promise<boolean> | undefined, entry: BatchEntry<Message>): Promise<boolean> {
    const { signal } = this.#settings;
    if (before && !(await before)) return this.#skip(entry);
    // Only the signal ends the wait for a permit.
    const release = await this.#sending.acquire(signal).catch(() => undefined);
    if (!release) return this.#skip(entry);
    try {
      return this.#note({ ...entry, outcome: "sent", ...(await this.#send(entry.message)) });
    } catch (error) {
      return this.#note({ ...entry, outcome: "failed", error });
    } finally {
      release();
    }
  }

  #skip(entry: BatchEntry<Message>): boolean {
    const because = this.#settings.signal.aborted ? "aborted" : "earlier-failed";
    return this.#note({ ...entry, outcome: "skipped", because });
  }

  #note(result: BatchResult<Message>): boolean {
    this.#results[result.index] = result;
    try {
      this.#settings.onResult?.(result);
    } catch (error) {
      this.#thrown ??= { error };
    }
    return result.outcome === "sent";
  }
}
