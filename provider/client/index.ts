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
export { MessageClient, type MessageClientOptions } from "./message-client.js";
export type {
  MessageAddress,
  MessageOfKind,
  MessageReceipt,
  MessageToSend,
  SendButtonOptions,
  SendMediaOptions,
  SendOptions,
  SendTextOptions,
} from "./messages.js";
export { DEFAULT_REQUEST_SECONDS, type Retry } from "../lib/retry.js";
