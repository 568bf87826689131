export { ApiChatError, type ApiChatErrorCode, type ApiChatOperation } from "../errors.js";
export {
  RegistrationClient,
  DEFAULT_REQUEST_SECONDS,
  type CallOptions,
  type Registration,
  type RegistrationClientOptions,
  type SetWebhookOptions,
} from "./registration-client.js";
