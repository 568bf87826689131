import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook, HandshakeResponder, VerificationKey } from "pulumi-apichat";

const config = new pulumi.Config();

// Prepend a rotation to create a new key; earlier keys are still accepted. The same seed always produces the same keys.
const key = new VerificationKey("rotation", {
  derivedFrom: config.requireSecret("keySeed"),
  rotations: config.requireObject<string[]>("rotations"),
});

// Accepts the key of every rotation.
const responder = new HandshakeResponder("rotation", {
  workspaces: { acme: { verificationKeys: key.keys, forwardTo: config.get("forwardTo") } },
  // A fixed port, to which a tunnel or reverse proxy can lead. By default, a free port is chosen and then kept.
  port: config.getNumber("port"),
  publicUrl: config.get("publicUrl"),
});

// The URL comes from the responder, so Pulumi updates the webhook only once the responder accepts the key.
// The workspace's address and the API key come from the configuration: apichat:baseUrl and apichat:apiKey.
const webhook = new ApiChatWebhook("rotation", {
  webhookUrl: responder.urls.acme,
  webhookVerificationKey: key.current,
});

export const bot_url = webhook.botUrl;
export const status = webhook.status;
export const webhook_url = responder.urls.acme;
export const data_dir = responder.dataDir;
