import * as pulumi from "../lib/pulumi.js";
import { refuseImport, refuseUnknownArgs, toProperties } from "../lib/resource-class.js";
import { INPUTS, SECRET_PROPERTIES } from "../lib/resource-inputs.js";
import { mayHoldQuery } from "../lib/url.js";
import { SETTINGS, findApiKeys, findBaseUrl } from "./run.js";
import type { OnExisting, Preflight } from "./state.js";

export interface ApiChatWebhookArgs {
  /**
   * Where the service sends handshakes and deliveries (section 4.3): an absolute http or https URL. Stored as a secret
   * if it has a query. A change is applied in place.
   */
  webhookUrl: pulumi.Input<string>;
  /**
   * The shared secret for handshakes and signatures (section 2.1). Stored as a secret. A change is sent to the service
   * in place, without a replacement.
   */
  webhookVerificationKey: pulumi.Input<string>;
  /**
   * Address of the workspace's registration interface (section 4.1). Default: the configuration `apichat:baseUrl`, then the
   * environment variable `APICHAT_BASE_URL`. A change must reach the same bot; to move, use a new name or `--replace`.
   */
  baseUrl?: pulumi.Input<string | undefined>;
  /**
   * The API key (section 5). Stored as a secret. Default: the environment variable `APICHAT_API_KEY`, then the
   * configuration `apichat:apiKey`; a default key is never stored in the state.
   */
  apiKey?: pulumi.Input<string | undefined>;
  /** What to do when another webhook is already registered: "fail" (default) reports it, "replace" overwrites it. */
  onExisting?: pulumi.Input<OnExisting | undefined>;
  /**
   * Whether the provider tries the handshake itself before set-webhook. "require" (default): it must pass. "warn": a
   * failure is only printed, for an endpoint that this machine cannot reach. "off": not tried.
   */
  preflight?: pulumi.Input<Preflight | undefined>;
  /** The time limits of the provider's calls. */
  timeouts?: pulumi.Input<
    | {
        /** The time limit of one call to the service with its retries, in seconds. Default 30. */
        requestSeconds?: pulumi.Input<number | undefined>;
        /** How long the endpoint may take to answer, and the service to verify, in seconds. Default 60. */
        readySeconds?: pulumi.Input<number | undefined>;
      }
    | undefined
  >;
}

/**
 * Registers one workspace's webhook and keeps it registered. Create adopts an existing registration of the same URL;
 * delete removes the registration only if it is still ours. Fails with an `ApiChatError` that says what to do next.
 *
 * @example
 * ```ts
 * const webhook = new ApiChatWebhook("acme", {
 *   baseUrl: "https://platform.example/acme/apichat",
 *   webhookUrl: "https://chat.acme.example/webhooks/apichat",
 *   webhookVerificationKey: config.requireSecret("verificationKey"),
 * });
 * export const bot_url = webhook.botUrl;
 * ```
 */
export class ApiChatWebhook extends pulumi.CustomResource {
  /** Where messages of the workspace's contacts are posted (section 4.2). Known in the preview of an update. */
  declare readonly botUrl: pulumi.Output<string>;
  /** The `webhook_status` of the service: `verified` (section 3). */
  declare readonly status: pulumi.Output<string>;
  declare readonly webhookUrl: pulumi.Output<string>;
  declare readonly baseUrl: pulumi.Output<string>;
  declare readonly webhookVerificationKey: pulumi.Output<string>;

  constructor(name: string, args: ApiChatWebhookArgs, opts: pulumi.CustomResourceOptions = {}) {
    refuseImport(name, opts, "declare the webhook without them: a registration of the same URL is adopted");
    refuseUnknownArgs(name, args, INPUTS.ApiChatWebhook);
    const given = args.baseUrl === undefined ? { ...args, baseUrl: secretBaseUrl() } : args;
    const properties = toProperties("ApiChatWebhook", name, given, ["baseUrl", "botUrl", "status"]);
    super("pulumi-nodejs:dynamic/apichat:ApiChatWebhook", name, properties, {
      ...opts,
      additionalSecretOutputs: [...(opts.additionalSecretOutputs ?? []), ...SECRET_PROPERTIES.ApiChatWebhook],
    });
    // In a preview every output of an update is unknown, but not the id, and the id is the bot URL.
    if (pulumi.runtime.isDryRun()) this.botUrl = this.id;
  }
}

/**
 * The default base URL, if it must be kept secret. Otherwise check resolves the default, but check cannot mark a value
 * as secret.
 */
function secretBaseUrl(): pulumi.Output<string> | undefined {
  const { config } = SETTINGS.baseUrl;
  const url = findBaseUrl(pulumi.runtime.getConfig);
  if (url === undefined) return undefined;
  // Not in the SDK's types. If it is missing, assume that the value is secret.
  const { isConfigSecret = () => true } = pulumi.runtime as { isConfigSecret?: (key: string) => boolean };
  const isConfigured = Boolean(pulumi.runtime.getConfig(config));
  const isSecret = (isConfigured && isConfigSecret(config)) || mayHoldQuery(url);
  return isSecret ? pulumi.secret(url) : undefined;
}

export interface GetApiChatWebhookArgs {
  /** Address of the registration interface. Default: `apichat:baseUrl`, then `APICHAT_BASE_URL`. */
  baseUrl?: pulumi.Input<string | undefined>;
  /** The API key. Default: `APICHAT_API_KEY`, then `apichat:apiKey`. */
  apiKey?: pulumi.Input<string | undefined>;
}

/** A registration without the key and with query values hidden. All strings are empty if nothing is registered. */
export interface GetApiChatWebhookResult {
  /** The registered webhook URL. */
  webhookUrl: string;
  /** The `webhook_status` of the service (section 3). */
  status: string;
  /** Where messages of the workspace's contacts are posted (section 4.2). */
  botUrl: string;
}

/** The name of {@link getApiChatWebhook} in a user's mocks: the same as on the resource plugin. */
const FUNCTION_TOKEN = "apichat:index:getApiChatWebhook";

/** Whether the program runs on `pulumi.runtime.setMocks`. The SDK has no function for this. */
const hasMocks = (): boolean => "mocks" in (pulumi.runtime.getMonitor() ?? {});

/**
 * Reads the registration of a workspace with get-webhook (section 4.1), in previews too, and before the same `up` writes
 * anything. Registers and changes nothing.
 * Fails with an `ApiChatError`.
 */
export function getApiChatWebhook(args: GetApiChatWebhookArgs = {}): pulumi.Output<GetApiChatWebhookResult> {
  if (hasMocks()) {
    return pulumi.unsecret(pulumi.runtime.invokeOutput<GetApiChatWebhookResult>(FUNCTION_TOKEN, { ...args }));
  }
  const { getConfig } = pulumi.runtime;
  const baseUrl = pulumi.output(args.baseUrl).apply((given) => given || findBaseUrl(getConfig));
  const apiKey = pulumi.output(args.apiKey).apply((given) => given || findApiKeys(getConfig)[0]);
  const read = pulumi.all([baseUrl, apiKey]).apply(async ([url, key]) => {
    // Loaded on use: a program that only declares webhooks needs no HTTP client.
    const { readRegistration } = await import("./lifecycle.js");
    return readRegistration(url, key);
  });
  // The secret API key makes the output secret, but the result itself is not.
  return pulumi.unsecret(read);
}
