import type { InboundMessage } from "../../schema/inbound.js";
import { isMap, jsonOrText } from "../lib/values.js";
import { SECRET_CHARACTERS, secretsOfUrl } from "../lib/url.js";
import { type AttemptFailure, call, hintForConnection } from "./call.js";
import {
  checkMessage,
  type MessageReceipt,
  type MessageToSend,
  type SendButtonOptions,
  type SendMediaOptions,
  type SendOptions,
  type SendTextOptions,
} from "./messages.js";
import {
  type ClientOptions,
  type FlowApiKeyAs,
  messageOptions,
  presentFlowKey,
  requireOptions,
} from "./options.js";
import type { Hint } from "../errors/index.js";
import { createRedactor, quoteBody } from "../lib/redact.js";

/** The bot's address and key. */
export interface MessageClientOptions extends ClientOptions {
  /** The URL for messages from one workspace's contacts: the `botUrl` of its registration (section 2.1). */
  botUrl: string;
  /** The API key of the flow, with the permission "Gerenciar Fluxo" (section 5). It never appears in an error. */
  flowApiKey: string;
  /** How the flow API key is sent. Default `bearer`, which is a guess. */
  flowApiKeyAs?: FlowApiKeyAs;
}

/**
 * Sends a contact's messages to the bot of one workspace (section 4.2), after validating them. Every failure is an
 * ApiChatError. A message is retried only if it counts as not accepted: if no connection was made, or after HTTP 429 or
 * 503. After other failures, a retry could deliver it twice, because the specification has no idempotency key.
 * @example
 * const client = new MessageClient({ botUrl, flowApiKey });
 * await client.sendText({ sender: { id: "42", name: "Ana" }, conversationId: 7, text: "Good morning" });
 */
export class MessageClient {
  readonly #options: MessageClientOptions;

  constructor(options: MessageClientOptions) {
    requireOptions("MessageClient", messageOptions, options, { id: "check_flow_api_key" });
    this.#options = options;
  }

  /** Sends a text. */
  async sendText(options: SendTextOptions & SendOptions): Promise<MessageReceipt> {
    return this.send({ ...options, kind: "text" }, options);
  }

  /** Sends the press of a button that a delivery offered. */
  async sendButton(options: SendButtonOptions & SendOptions): Promise<MessageReceipt> {
    return this.send({ ...options, kind: "button" }, options);
  }

  /** Sends an image, given as a URL. */
  async sendImage(options: SendMediaOptions & SendOptions): Promise<MessageReceipt> {
    return this.send({ ...options, kind: "image" }, options);
  }

  /** Sends an audio file, given as a URL. */
  async sendAudio(options: SendMediaOptions & SendOptions): Promise<MessageReceipt> {
    return this.send({ ...options, kind: "audio" }, options);
  }

  /** Sends a video, given as a URL. */
  async sendVideo(options: SendMediaOptions & SendOptions): Promise<MessageReceipt> {
    return this.send({ ...options, kind: "video" }, options);
  }

  /** Sends a file, given as a URL. */
  async sendFile(options: SendMediaOptions & SendOptions): Promise<MessageReceipt> {
    return this.send({ ...options, kind: "file" }, options);
  }

  /** Sends a message, given in wire format or as `{ kind: "text", sender, conversationId, text }`. */
  async send(message: MessageToSend, { signal }: SendOptions = {}): Promise<MessageReceipt> {
    const wire = checkMessage(message);
    const { botUrl, flowApiKey, flowApiKeyAs = "bearer" } = this.#options;
    const { headers, fields } = presentFlowKey(flowApiKey, flowApiKeyAs);
    const redact = createRedactor([flowApiKey, ...secretsOfUrl(botUrl), ...textsOf(wire)]);
    const { result, attempts } = await call<Omit<MessageReceipt, "attempts">>({
      operation: "message",
      url: new URL(botUrl),
      address: botUrl,
      message: { ...wire, ...fields },
      headers,
      redact,
      options: this.#options,
      signal,
      // A 2xx status means that the message was accepted. An error would make the caller send it again.
      statusSuffices: true,
      read: ({ status, text }) => {
        const body = jsonOrText(text);
        if (!isRejection(body)) return { result: { httpStatus: status, body } };
        const said = `HTTP ${status}, but the service responded: ${quoteBody(text, redact)}`;
        return { failure: { code: "rejected", text: said, httpStatus: status, retry: false } };
      },
      judge: (failure) => (failure.mayHaveTakenEffect ? { ...failure, retry: false } : failure),
      hintsFor: hintsForMessage,
    });
    return { ...result, attempts };
  }
}

/** Assumes that bot_url responds in the envelope of section 2.2: the specification shows no such response. */
const isRejection = (body: unknown): boolean => isMap(body) && body["status"] === "error";

function hintsForMessage(failure: AttemptFailure): Hint[] {
  const { code, httpStatus, unsent, mayHaveTakenEffect } = failure;
  if (code === "timeout") {
    return [{ id: unsent ? "message_not_sent" : "message_may_be_taken" }, { id: "raise_request_seconds" }];
  }
  if (code === "unauthorized") return [{ id: "check_flow_api_key" }];
  if (code === "rejected" && (httpStatus === 404 || httpStatus === 410)) {
    return [{ id: "read_bot_url" }];
  }
  if (unsent) return [{ id: "message_not_sent" }, hintForConnection(failure, "botUrl")];
  return mayHaveTakenEffect ? [{ id: "message_may_be_taken" }] : [];
}

/** The parts of a message that errors must not quote. Short ones are left out: an error may contain them by chance. */
function textsOf(message: InboundMessage): string[] {
  const { content, sender } = message;
  const buttons = "submitted_values" in message ? message.submitted_values : [];
  const media = "attachments" in message ? message.attachments : [];
  const texts = [
    content,
    sender.id,
    sender.name,
    ...buttons.flatMap(({ title, payload }) => [title, payload]),
    ...media.map(({ data_url }) => data_url),
  ];
  return texts.filter(({ length }) => length >= SECRET_CHARACTERS);
}
