import * as pulumi from "../pulumi/sdk.js";
import { mayHoldQuery } from "../lib/url.js";
import { rejectImport, rejectUnknownArgs, toOptions, toProperties } from "../pulumi/class-arguments.js";
import { INPUTS } from "../pulumi/resource-inputs.js";
import type { OnExisting, Preflight } from "../registration/index.js";
import type { Settling } from "./preview.js";
import { SETTINGS, findApiKeys, findBaseUrl, warningsOfConfiguration } from "./settings.js";

/** The webhook to register. Every argument except `webhookUrl` and the key has a default. */
export interface ApiChatWebhookArgs {
  /**
   * The URL to which the service sends handshakes and deliveries (section 4.3): absolute, http or https.
   * Stored as a secret if it has a query. A change is applied in place.
   */
  webhookUrl: pulumi.Input<string>;
  /**
   * The shared secret for handshakes and signatures (section 2.1). Stored as a secret. A change is sent to the service
   * in place, without a replacement.
   */
  webhookVerificationKey: pulumi.Input<string>;
  /**
   * Address of the workspace's registration interface (section 4.1). Default: the configuration
   * `apichat:baseUrl`, then the environment variable `APICHAT_BASE_URL`. A changed URL must reach the same
   * bot; to move to another workspace, use a new name or `--replace`.
   */
  baseUrl?: pulumi.Input<string | undefined>;
  /**
   * The API key (section 5). Stored as a secret. Default: the configuration `apichat:apiKey`, then the
   * environment variable `APICHAT_API_KEY`; a default key is never stored in the state.
   */
  apiKey?: pulumi.Input<string | undefined>;
  /** What to do when another webhook is already registered: "fail" (default) fails, "replace" overwrites it. */
  onExisting?: pulumi.Input<OnExisting | undefined>;
  /**
   * Whether the provider tries the handshake itself before set-webhook. "require" (default): it must pass.
   * "warn" (for an endpoint that this machine cannot reach): a failure is only printed. "off": it is not tried.
   */
  preflight?: pulumi.Input<Preflight | undefined>;
  /** The time limits of the provider's calls. */
  timeouts?: pulumi.Input<
    | {
        /** The time limit of one call to the service, including retries, in seconds from 1 to 3600. Default 30. */
        requestSeconds?: pulumi.Input<number | undefined>;
        /** How long to wait for the endpoint and the service to be ready, in seconds from 0 to 3600. Default 60. */
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
  /** The URL for messages from the workspace's contacts (section 4.2). Known in the preview of an update. */
  declare readonly botUrl: pulumi.Output<string>;
  /** The service's `webhook_status` (section 3): `verified` after `up`; a refresh may find another value. */
  declare readonly status: pulumi.Output<string>;
  /** The registered webhook URL, as the program set it; after a refresh, as the service returned it. */
  declare readonly webhookUrl: pulumi.Output<string>;
  /** Address of the workspace's registration interface (section 4.1). */
  declare readonly baseUrl: pulumi.Output<string>;
  /** The verification key (section 2.1), as the program set it. Secret. */
  declare readonly webhookVerificationKey: pulumi.Output<string>;

  constructor(name: string, args: ApiChatWebhookArgs, opts: pulumi.CustomResourceOptions = {}) {
    rejectImport(name, opts, "declare the webhook without them: a registration of the same URL is adopted");
    rejectUnknownArgs(name, args, Object.keys(INPUTS.ApiChatWebhook));
    warnOfConfiguration();
    const given = args.baseUrl === undefined ? { ...args, baseUrl: secretBaseUrl() } : args;
    const properties = toProperties("ApiChatWebhook", name, given, ["baseUrl", "botUrl", "status"]);
    const options = toOptions("ApiChatWebhook", opts);
    super("pulumi-nodejs:dynamic/apichat:ApiChatWebhook", name, properties, options);
    if (!pulumi.runtime.isDryRun()) return;
    // In the preview of an update, every output is unknown except the ID, which is the bot URL.
    this.botUrl = this.id;
    if (!hasMocks()) void previewIfNew(this, name);
  }
}

/** In a preview, only a resource still to be created has no ID. The SDK shows a rejection under the resource. */
async function previewIfNew(webhook: ApiChatWebhook, name: string): Promise<void> {
  // The program does not end before `done` is called.
  const done = pulumi.runtime.rpcKeepAlive();
  try {
    // Rejects if the resource could not be registered; the SDK reports that.
    if (await (webhook.id as unknown as Settling).isKnown.catch(() => true)) return;
    // Loaded only when used: a program that only declares webhooks needs no HTTP client.
    const { reportCreate } = await import("./preview.js");
    await reportCreate(webhook, name);
  } finally {
    // Deferred, so that the SDK sees a rejection first.
    setImmediate(done);
  }
}

/** The default base URL, if it must be secret. Any other default is resolved by check, which cannot mark secrets. */
function secretBaseUrl(): pulumi.Output<string> | undefined {
  const { config } = SETTINGS.baseUrl;
  const url = findBaseUrl(pulumi.runtime.getConfig);
  if (url === undefined) return undefined;
  const isConfigured = Boolean(pulumi.runtime.getConfig(config));
  const isSecret = (isConfigured && isConfigSecret(config)) || mayHoldQuery(url);
  return isSecret ? pulumi.secret(url) : undefined;
}

/** Whether a value of the stack's configuration is secret. Assumes so if the SDK cannot tell. */
function isConfigSecret(key: string): boolean {
  const { runtime } = pulumi as { runtime: { isConfigSecret?: (key: string) => boolean } };
  return runtime.isConfigSecret?.(key) ?? true;
}

const seenStacks = new Set<string>();

function warnOfConfiguration(): void {
  const stack = `${pulumi.getProject()}/${pulumi.getStack()}`;
  if (seenStacks.has(stack)) return;
  seenStacks.add(stack);
  const keys = Object.keys(pulumi.runtime.allConfig());
  for (const { text, hint } of warningsOfConfiguration(keys, isConfigSecret)) {
    void pulumi.log.warn(`${text}; ${hint}`);
  }
}

/** The workspace to read. */
export interface GetApiChatWebhookArgs {
  /** Address of the registration interface. Default: `apichat:baseUrl`, then `APICHAT_BASE_URL`. */
  baseUrl?: pulumi.Input<string | undefined>;
  /** The API key. Default: `apichat:apiKey`, then `APICHAT_API_KEY`. */
  apiKey?: pulumi.Input<string | undefined>;
}

/** What is registered, without the key and with query values hidden. All strings are empty if nothing is registered. */
export interface GetApiChatWebhookResult {
  /** The registered webhook URL. */
  webhookUrl: string;
  /** The `webhook_status` of the service (section 3). */
  status: string;
  /** The URL for messages from the workspace's contacts (section 4.2). */
  botUrl: string;
}

/** The name of {@link getApiChatWebhook} in a user's mocks: the same as in the resource plugin. */
const FUNCTION_TOKEN = "apichat:index:getApiChatWebhook";

/** Whether the program runs with `pulumi.runtime.setMocks`. The SDK has no function for this. */
const hasMocks = (): boolean => "mocks" in (pulumi.runtime.getMonitor() ?? {});

/**
 * Reads the registration of a workspace with get-webhook (section 4.1), even in a preview. In an `up`, usually reads
 * it before anything is written. Changes nothing. Fails with an `ApiChatError`.
 */
export function getApiChatWebhook(args: GetApiChatWebhookArgs = {}): pulumi.Output<GetApiChatWebhookResult> {
  if (hasMocks()) {
    return pulumi.unsecret(pulumi.runtime.invokeOutput<GetApiChatWebhookResult>(FUNCTION_TOKEN, { ...args }));
  }
  const { getConfig } = pulumi.runtime;
  const baseUrl = pulumi.output(args.baseUrl).apply((given) => given || findBaseUrl(getConfig));
  const apiKey = pulumi.output(args.apiKey).apply((given) => given || findApiKeys(getConfig)[0]);
  const read = pulumi.all([baseUrl, apiKey]).apply(async ([url, key]) => {
    const { lookUpRegistration } = await import("./read.js");
    return lookUpRegistration(url, key);
  });
  // The secret API key makes the output secret, but the result itself is not.
  return pulumi.unsecret(read);
}
