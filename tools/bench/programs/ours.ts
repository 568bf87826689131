/** The webhooks as this package registers them. */
import { ApiChatWebhook } from "pulumi-apichat";
import { webhooksOfRun } from "./webhooks.ts";

webhooksOfRun().forEach(({ name, ...args }) => new ApiChatWebhook(name, args));
