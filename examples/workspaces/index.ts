import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook } from "pulumi-apichat";
import { readWorkspaceList } from "./workspace-list";

const { webhookUrl, workspaces } = readWorkspaceList("workspaces.yaml");
const keys = new pulumi.Config().requireSecretObject<Record<string, string>>("verificationKeys");

// One API key for all of them, from the configuration: apichat:apiKey.
const webhooks = workspaces.map(({ name, baseUrl }) => ({
  name,
  webhook: new ApiChatWebhook(name, {
    baseUrl,
    webhookUrl,
    webhookVerificationKey: keys.apply((byName) => byName[name] || failForMissingKeys(byName)),
  }),
}));

export const bot_url = Object.fromEntries(webhooks.map(({ name, webhook }) => [name, webhook.botUrl]));
export const status = Object.fromEntries(webhooks.map(({ name, webhook }) => [name, webhook.status]));

/** One failure names every workspace that has no key. */
function failForMissingKeys(byName: Record<string, string>): never {
  const missing = workspaces.filter(({ name }) => !byName[name]);
  const commands = missing.map(
    ({ name }) => `openssl rand -hex 32 | pulumi config set --secret --path verificationKeys.${name}`,
  );
  throw new pulumi.RunError(
    ["Workspaces without a verification key. Make them with:", ...commands].join("\n  "),
  );
}
