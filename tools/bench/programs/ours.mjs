/** The webhooks as this package registers them. */
import { ApiChatWebhook } from "pulumi-apichat";
import { readWebhooks } from "./webhooks.mjs";

readWebhooks().forEach(({ name, ...args }) => new ApiChatWebhook(name, args));
