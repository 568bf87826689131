/** The workspaces of all webhooks in one responder, with two keys each, as during a rotation. */
import { HandshakeResponder } from "pulumi-apichat";
import { readWebhooks } from "./webhooks.mjs";

const workspaces = readWebhooks().map(({ name, webhookVerificationKey: key }) => [
  name,
  { verificationKeys: [`${key}-${name}`, `former-${key}-${name}`] },
]);
export const { urls } = new HandshakeResponder("responder", {
  workspaces: Object.fromEntries(workspaces),
});
