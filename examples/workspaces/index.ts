import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook } from "pulumi-apichat";
import { readWorkspaceList } from "pulumi-apichat/fleet";

const config = new pulumi.Config();
const keys = config.requireSecretObject<Record<string, string>>("verificationKeys");

/** Reads the list, and reports all of its problems at once. Returns the outputs of the stack. */
export = async () => {
  const workspaces = await readWorkspaceList("workspaces.yaml");
  const names = workspaces.map(({ name }) => name);
  // One API key for all workspaces, from the configuration: apichat:apiKey.
  const webhooks = workspaces.map(({ name, baseUrl, webhookUrl }) => {
    const webhook = new ApiChatWebhook(name, {
      baseUrl,
      webhookUrl: webhookUrl ?? config.require("webhookUrl"),
      webhookVerificationKey: keys.apply((byName) => byName[name] || failForMissingKeys(names, byName)),
    });
    return [name, webhook] as const;
  });
  return {
    bot_url: Object.fromEntries(webhooks.map(([name, { botUrl }]) => [name, botUrl])),
    status: Object.fromEntries(webhooks.map(([name, { status }]) => [name, status])),
  };
};

/** Reports, in one error, all workspaces that have no key. */
function failForMissingKeys(names: readonly string[], byName: Record<string, string>): never {
  const commands = names
    .filter((name) => !byName[name])
    .map((name) => `openssl rand -hex 32 | pulumi config set --secret --path verificationKeys.${name}`);
  throw new pulumi.RunError(
    ["These workspaces have no verification key. Create the keys with:", ...commands].join("\n  "),
  );
}
