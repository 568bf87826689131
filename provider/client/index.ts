import "../lib/require-node.js";
export { ApiChatError, type ApiChatErrorCode, type ApiChatOperation } from "../errors/index.js";
export {
  RegistrationClient,
  type CallOptions,
  type Registration,
  type RegistrationClientOptions,
  type SetWebhookOptions,
} from "./registration-client.js";
export type { ApiKeyAs, FlowApiKeyAs } from "./options.js";
export { MessageClient, type MessageClientOptions, type MessageRetry } from "./message-client.js";
export type { BatchOptions, BatchResult, MessageSource } from "./message-batch.js";
export type {
  BatchMessage,
  MessageAddress,
  MessageOfKind,
  MessageReceipt,
  SendButtonOptions,
  SendMediaOptions,
  SendOptions,
  SendTextOptions,
} from "./messages.js";
export { DEFAULT_REQUEST_SECONDS, type Retry } from "../lib/retry.js";
