import { ApiChatError, type Registration, type RegistrationClient } from "../../client/index.js";
import { checkUrl } from "../../lib/checks.js";
import { botCodeOf, isSameBot } from "../../lib/url.js";
import { createClient } from "../../webhook/observe.js";
import { openCredentials, type Credentials } from "../credentials.js";
import type { Interruption } from "../run-command.js";
import { divertLinesToStderr } from "../slow.js";
import { UsageError } from "../usage-error.js";
import type { ApiKeyAs } from "../../client/options.js";
import type { CredentialOptions } from "../credential-options.js";

/** What the commands on one workspace have in common. */
export interface WebhookOptions extends CredentialOptions {
  json?: boolean;
  apiKeyAs: ApiKeyAs;
  /** In seconds. */
  requestSeconds: number;
}

/** One workspace as the options name it. */
export interface Access {
  credentials: Credentials;
  baseUrl: string;
  apiKey: string;
  client: RegistrationClient;
}

/** Reads the credentials of a workspace, asking for the API key where nothing gives it. Nothing is sent yet. */
export async function openWorkspace(options: WebhookOptions, { interrupt }: Interruption): Promise<Access> {
  divertLinesToStderr();
  const credentials = openCredentials(options, interrupt);
  const baseUrl = await credentials.address("baseUrl");
  // Malformed, it is wrong use before anything is sent.
  await credentials.findAddress("botUrl");
  const apiKey = await credentials.secret("apiKey");
  const { requestSeconds, apiKeyAs } = options;
  const client = createClient({ name: "webhook", baseUrl, timeouts: { requestSeconds }, apiKeyAs }, apiKey);
  return { credentials, baseUrl, apiKey, client };
}

/** Throws a UsageError for a malformed URL, before any secret is asked for. */
export function requireWebhookUrl(url: string): void {
  const [failure] = checkUrl("--webhook-url", url, "https://chat.example/webhooks/apichat");
  if (failure !== undefined) throw new UsageError(failure.reason);
}

/** Throws `conflict` if a bot URL is given and another bot stands there: then it is another workspace. */
export async function refuseOtherBot(
  seen: Registration,
  access: Access,
  operation: "set-webhook" | "delete-webhook",
): Promise<void> {
  const otherBot = await describeOtherBot(seen, access);
  if (otherBot === undefined) return;
  throw new ApiChatError("conflict", `${otherBot}, and nothing was written`, {
    operation,
    hints: [{ id: "name_workspace" }],
  });
}

/** Which bot is there in place of the given one, and where that was given; undefined if none is given or it is the one. */
export async function describeOtherBot(
  seen: Registration,
  { credentials }: Access,
): Promise<string | undefined> {
  const botUrl = await credentials.findAddress("botUrl");
  if (botUrl === undefined || isSameBot(seen.botUrl, botUrl)) return undefined;
  return `the workspace has the bot ${botCodeOf(seen.botUrl)}, not ${botCodeOf(botUrl)} of ${credentials.sourceOf("botUrl")}`;
}
