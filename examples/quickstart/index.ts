import { ApiChatWebhook, HandshakeResponder, VerificationKey } from "pulumi-apichat";

// The shared key of handshakes and deliveries. It stays in the stack's state, encrypted.
const key = new VerificationKey("key");

// For development: a process on this machine that keeps running after pulumi up and stores each delivery. Set
// a URL of your program as the target of forwarding, or register your own endpoint instead.
const responder = new HandshakeResponder("responder", {
  workspaces: { acme: { verificationKeys: key.keys } },
});

// The workspace's address is in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.
const webhook = new ApiChatWebhook("webhook", {
  webhookUrl: responder.urls.acme,
  webhookVerificationKey: key.current,
});

export const bot_url = webhook.botUrl; // where messages of your contacts are posted
export const status = webhook.status; // "verified"
export const verification_key = key.current; // a secret, for apichat verify and apichat listen
