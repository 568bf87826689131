/** The entry file for programs: only the class. The engine's process loads its lifecycle from `provider.ts`. */
export {
  ApiChatWebhook,
  getApiChatWebhook,
  type ApiChatWebhookArgs,
  type GetApiChatWebhookArgs,
  type GetApiChatWebhookResult,
} from "./webhook.js";
