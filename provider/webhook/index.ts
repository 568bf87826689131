/** What a program loads: the class. The lifecycle behind it is loaded when it is needed, from `provider.ts`. */
export {
  ApiChatWebhook,
  getApiChatWebhook,
  type ApiChatWebhookArgs,
  type GetApiChatWebhookArgs,
  type GetApiChatWebhookResult,
} from "./webhook.js";
