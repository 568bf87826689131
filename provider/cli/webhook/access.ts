import { ApiChatError, type Registration } from "../../client/index.js";
import { looksMasked } from "../../lib/checks.js";
import { botCodeOf, hideQuery, isSameBot, isSameUrl } from "../../lib/url.js";
import { createClient, removeRegistration, type WorkspaceClient } from "../../webhook/lifecycle.js";
import type { Credentials } from "../credentials.js";
import { divertLinesToStderr, type Run } from "../run-command.js";
import type { ApiKeyAs } from "../../client/options.js";
import type { CredentialOptions } from "../credential-options.js";
import { toPlainText } from "../../lib/plain-text.js";

/** The options of the commands on one workspace. */
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
  client: WorkspaceClient;
}

/** Reads the credentials of a workspace, and prompts for the API key if no source has it. Sends nothing. */
export async function openWorkspace(options: WebhookOptions, { credentials }: Run): Promise<Access> {
  divertLinesToStderr();
  const baseUrl = await credentials.address("baseUrl");
  // A malformed one is a usage error, before anything is sent.
  await credentials.findAddress("botUrl");
  const apiKey = await credentials.secret("apiKey");
  const { requestSeconds, apiKeyAs } = options;
  const client = createClient({ name: "webhook", baseUrl, timeouts: { requestSeconds }, apiKeyAs }, apiKey);
  return { credentials, baseUrl, apiKey, client };
}

/** Throws `conflict` if a bot URL is given and the workspace has a different bot: then it is a different workspace. */
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

/** Describes how the workspace's bot differs from the given one. Returns undefined if none is given or it is the same. */
export async function describeOtherBot(
  seen: Registration,
  { credentials }: Access,
): Promise<string | undefined> {
  const botUrl = await credentials.findAddress("botUrl");
  if (botUrl === undefined || isSameBot(seen.botUrl, botUrl)) return undefined;
  return `the workspace has the bot ${botCodeOf(seen.botUrl)}, not ${botCodeOf(botUrl)} of ${credentials.sourceOf("botUrl")}`;
}

/** Removes the registration that was seen, and nothing that somebody has set in the meantime. */
export const removeSeen = (seen: Registration, { client, baseUrl }: Access): Promise<void> =>
  removeRegistration(client, baseUrl, (now) => isSameRegistration(now, seen));

export const isSameRegistration = (now: Registration | undefined, seen: Registration): boolean =>
  now !== undefined && isSameUrl(now.webhookUrl, seen.webhookUrl) && isSameBot(now.botUrl, seen.botUrl);

/** Our key, to compare with, and whether to show the key. */
export interface ShowOptions {
  ours?: string | undefined;
  showKey?: boolean | undefined;
}

/** A registration for scripts. Hides the values of the query, and the key unless `showKey`. */
export const toShown = (seen: Registration, { ours, showKey }: ShowOptions) => ({
  webhookUrl: hideQuery(seen.webhookUrl),
  status: seen.status,
  botUrl: seen.botUrl,
  keyMatches: compareKeys(seen.webhookVerificationKey, ours),
  ...(showKey ? { key: seen.webhookVerificationKey } : {}),
});

/** Whether the key is ours. Returns null if ours is not known, or the service does not show its own. */
function compareKeys(key: string, ours: string | undefined): boolean | null {
  if (ours === undefined || key === "") return null;
  if (key === ours) return true;
  return looksMasked(key) ? null : false;
}

function describeKey(key: string, ours: string | undefined): string {
  if (key === "") return "not shown";
  const matches = compareKeys(key, ours);
  if (matches !== null) return matches ? "set, the same as yours" : "set, different from yours";
  return looksMasked(key) ? "set, masked by the service" : "set";
}

/** A registration for people. */
export const formatRegistration = (seen: Registration, { ours, showKey }: ShowOptions): string =>
  [
    ["url", hideQuery(seen.webhookUrl)],
    ["status", seen.status],
    ["bot url", seen.botUrl],
    ["key", showKey ? seen.webhookVerificationKey : describeKey(seen.webhookVerificationKey, ours)],
  ]
    .map(([label = "", text = ""]) => `  ${label.padEnd(7)}  ${toPlainText(text)}\n`)
    .join("");
