import { ApiChatWebhook, Responder, VerificationKey } from "pulumi-apichat-sdk";

// The shared key for handshakes and deliveries. It is stored encrypted in the stack's state.
const key = new VerificationKey("key");

// For development: a process on this machine that keeps running after pulumi up and stores each delivery. Set
// the URL of your program as the forwarding target, or register your own endpoint instead.
const responder = new Responder("responder", { workspaces: { acme: { verificationKeys: key.keys } } });

// The workspace's address is in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.
const webhook = new ApiChatWebhook("webhook", {
  webhookUrl: responder.urls.acme,
  webhookVerificationKey: key.current,
});

export const bot_url = webhook.botUrl; // where to post your contacts' messages
export const status = webhook.status; // "verified"
export const verification_key = key.current; // a secret, for apichat verify and apichat listen
