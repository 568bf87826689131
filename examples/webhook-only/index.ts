import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook } from "pulumi-apichat";

const config = new pulumi.Config();

// The addresses are in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.
const webhook = new ApiChatWebhook("webhook", {
  webhookUrl: config.require("webhookUrl"),
  webhookVerificationKey: config.requireSecret("verificationKey"), // your endpoint's key
});

export const bot_url = webhook.botUrl; // where to post your contacts' messages
export const status = webhook.status; // "verified"
