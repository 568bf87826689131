import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook } from "pulumi-apichat";

const config = new pulumi.Config();

// The workspace's address and the API key come from the configuration: apichat:baseUrl and apichat:apiKey.
const webhook = new ApiChatWebhook("quickstart", {
  webhookUrl: config.require("webhookUrl"),
  webhookVerificationKey: config.requireSecret("verificationKey"),
});

export const bot_url = webhook.botUrl;
export const status = webhook.status;
