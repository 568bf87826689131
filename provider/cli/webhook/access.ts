import { ApiChatError, type Registration } from "../../client/index.js";
import { looksMasked } from "../../lib/checks.js";
import { botCodeOf, hideQuery, isSameBot } from "../../lib/url.js";
import { createClient, type WorkspaceClient } from "../../webhook/lifecycle.js";
import { type Credentials, openCredentials } from "../credentials.js";
import { divertLinesToStderr, type Interruption } from "../run-command.js";
import type { ApiKeyAs } from "../../client/options.js";
import type { CredentialOptions } from "../credential-options.js";
import { toPlainText } from "../../lib/plain-text.js";

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
  client: WorkspaceClient;
}

/** Reads the credentials of a workspace, asking for the API key where nothing gives it. Nothing is sent yet. */
export async function openWorkspace(options: WebhookOptions, { interrupt }: Interruption): Promise<Access> {
  divertLinesToStderr();
  const credentials = openCredentials(options, interrupt);
  const baseUrl = await credentials.address("baseUrl");
  // A malformed one is a usage error, before anything is sent.
  await credentials.findAddress("botUrl");
  const apiKey = await credentials.secret("apiKey");
  const { requestSeconds, apiKeyAs } = options;
  const client = createClient({ name: "webhook", baseUrl, timeouts: { requestSeconds }, apiKeyAs }, apiKey);
  return { credentials, baseUrl, apiKey, client };
}

/** Throws `conflict` if a bot URL is given and another bot is there: then it is another workspace. */
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

/** A registration for scripts: values of the query are hidden, and so is the key unless it is asked for. */
export interface ShownRegistration {
  webhookUrl: string;
  status: string;
  botUrl: string;
  /** Whether the key is ours; null if ours is not known, or the service does not show its own. */
  keyMatches: boolean | null;
  key?: string;
}

/** What is ours, to compare with, and whether the key is to be shown. */
export interface ShowOptions {
  ours?: string | undefined;
  showKey?: boolean | undefined;
}

/** For scripts. */
export const toShown = (seen: Registration, { ours, showKey }: ShowOptions): ShownRegistration => ({
  webhookUrl: hideQuery(seen.webhookUrl),
  status: seen.status,
  botUrl: seen.botUrl,
  keyMatches: compareKeys(seen.webhookVerificationKey, ours),
  ...(showKey ? { key: seen.webhookVerificationKey } : {}),
});

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

/** For people. */
export const formatRegistration = (seen: Registration, { ours, showKey }: ShowOptions): string =>
  [
    ["url", hideQuery(seen.webhookUrl)],
    ["status", seen.status],
    ["bot url", seen.botUrl],
    ["key", showKey ? seen.webhookVerificationKey : describeKey(seen.webhookVerificationKey, ours)],
  ]
    .map(([label = "", text = ""]) => `  ${label.padEnd(7)}  ${toPlainText(text)}\n`)
    .join("");
