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

/** Sends the messages of a source, in order within each conversation, and returns one result for each message read. */
export async function sendInOrder<Message extends BatchMessage>(
  source: MessageSource<Message>,
  send: Send<Message>,
  { concurrency = DEFAULT_CONCURRENCY, signal, onResult }: BatchOptions<Message> & { signal: AbortSignal },
): Promise<BatchResult<Message>[]> {
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw invalidOptions(
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
  readonly #sending: Permits;
  /** For the messages that were read and have no result yet. */
  readonly #reading: Permits;
  readonly #results: BatchResult<Message>[] = [];
  /** Sends the messages of a conversation one after the other. */
  readonly #queue = new KeyedQueue();
  /** The conversations of which a message was not sent. */
  readonly #broken = new Set<string>();
  /** What the source or `onResult` threw first. */
  #thrown: { error: unknown } | undefined;

  constructor(send: Send<Message>, settings: BatchSettings<Message>) {
    this.#send = send;
    this.#settings = settings;
    this.#sending = new Permits(settings.concurrency);
    this.#reading = new Permits(settings.concurrency * READ_AHEAD);
  }

  async run(source: MessageSource<Message>): Promise<BatchResult<Message>[]> {
    const iterator =
      Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    try {
      await this.#read(iterator);
    } catch (error) {
      if (!this.#settings.signal.aborted) this.#thrown ??= { error };
    }
    await this.#queue.idle();
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
      // Not awaited: a generator that is still producing its next value returns only after that. Its errors no longer
      // matter then.
      if (signal.aborted) close().catch(() => undefined);
    }
  }

  /** `release` is called when the message has its result. */
  #add(entry: BatchEntry<Message>, release: () => void): void {
    const conversation = conversationOf(entry.message);
    void this.#queue.run(conversation, async () => {
      const result = this.#broken.has(conversation) ? this.#skip(entry) : await this.#sendOne(entry);
      if (result.outcome !== "sent") this.#broken.add(conversation);
      this.#note(result);
      release();
    });
  }

  /** Never rejects. */
  async #sendOne(entry: BatchEntry<Message>): Promise<BatchResult<Message>> {
    // Only the signal ends the wait for a permit.
    const release = await this.#sending.acquire(this.#settings.signal).catch(() => undefined);
    if (!release) return this.#skip(entry);
    try {
      return { ...entry, outcome: "sent", ...(await this.#send(entry.message)) };
    } catch (error) {
      return { ...entry, outcome: "failed", error };
    } finally {
      release();
    }
  }

  #skip(entry: BatchEntry<Message>): SkippedMessage<Message> {
    const because = this.#settings.signal.aborted ? "aborted" : "earlier-failed";
    return { ...entry, outcome: "skipped", because };
  }

  #note(result: BatchResult<Message>): void {
    this.#results[result.index] = result;
    try {
      this.#settings.onResult?.(result);
    } catch (error) {
      this.#thrown ??= { error };
    }
  }
}

/** A limited number of permits. All waits end with one signal. */
class Permits {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  /** Waits for a permit and returns what releases it. Rejects with the signal's reason if that fires first. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await orAborted(new Promise<void>((resolve) => this.#waiting.push(resolve)), signal);
    return () => {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    };
  }
}
