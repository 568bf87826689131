import * as pulumi from "@pulumi/pulumi";
import { ApiChatError } from "../errors/index.js";
import { hideQuery } from "../lib/url.js";

export interface GetApiChatWebhookArgs {
  /** Address of the registration interface. Default: `apichat:baseUrl`, then `APICHAT_BASE_URL`. */
  baseUrl?: pulumi.Input<string | undefined>;
  /** The API key. Default: `APICHAT_API_KEY`, then `apichat:apiKey`. */
  apiKey?: pulumi.Input<string | undefined>;
}

/** A registration as the service shows it, less the key and the values of a query. All empty strings if nothing is registered. */
export interface GetApiChatWebhookResult {
  webhookUrl: string;
  status: string;
  botUrl: string;
}

/**
 * Reads the registration of a workspace with get-webhook (section 4.1), in previews too, and before the same `up` writes
 * anything. Registers and changes nothing.
 * Fails with an `ApiChatError`.
 */
export function getApiChatWebhook(args: GetApiChatWebhookArgs = {}): pulumi.Output<GetApiChatWebhookResult> {
  const config = new pulumi.Config("apichat");
  const baseUrl = pulumi
    .output(args.baseUrl)
    .apply((given) => given || config.get("baseUrl") || process.env["APICHAT_BASE_URL"]);
  const apiKey = pulumi
    .output(args.apiKey)
    .apply((given) => given || process.env["APICHAT_API_KEY"] || config.getSecret("apiKey"));
  const read = pulumi.all([baseUrl, apiKey]).apply(([url, key]) => readRegistration(url, key));
  // The API key makes the output a secret; what it opens is none.
  return pulumi.unsecret(read);
}

async function readRegistration(baseUrl = "", apiKey = ""): Promise<GetApiChatWebhookResult> {
  requireSetting("baseUrl", baseUrl, "APICHAT_BASE_URL");
  requireSetting("apiKey", apiKey, "APICHAT_API_KEY");
  // Loaded on use: a program that only declares webhooks needs no HTTP client.
  const { RegistrationClient } = await import("../client/registration-client.js");
  const seen = await new RegistrationClient({ baseUrl, apiKey }).getWebhook();
  const { webhookUrl, status, botUrl } = seen ?? { webhookUrl: "", status: "", botUrl: "" };
  return { webhookUrl: hideQuery(webhookUrl), status, botUrl };
}

function requireSetting(name: string, value: string, variable: string): void {
  if (value !== "") return;
  throw new ApiChatError(
    "invalid_config",
    `getApiChatWebhook: ${name} is missing; give it as the argument ${name}, as the configuration apichat:${name}, or as the environment variable ${variable}`,
    { operation: "check" },
  );
}
