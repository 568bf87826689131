// A separate entry file for commands: no state records what is ours, so the URL and the bot that the user names
// decide.

import type { Registration } from "../client/internal.js";
import { ApiChatError, commandLine, renderFailure } from "../errors/index.js";
import { botCodeOf, formatUrl, hideQuery, isSameBot, isSameUrl } from "../lib/url.js";
import { ensure, type Ensured } from "./ensure.js";
import { rejectForeign, removeOther } from "./foreign.js";
import { remove } from "./remove.js";
import type { WantedWebhook } from "./wanted.js";
import { getWebhookBeforeSet, type WorkspaceClient } from "./workspace.js";

export interface NamedWorkspace {
  baseUrl: string;
  botUrl: string | undefined;
  client: WorkspaceClient;
}

/** Give up after this many rejections of the key: a command, unlike `up`, does not deploy the endpoint meanwhile. */
const REJECTED_ROUNDS = 3;

/**
 * Registers a webhook as the resource does. Throws `conflict` if the workspace has a different bot. If
 * nothing was registered, that shows only after set-webhook, which is then undone.
 */
export async function setNamed(
  workspace: NamedWorkspace,
  wanted: WantedWebhook,
): Promise<Ensured & { previous: Registration | undefined }> {
  const { client } = workspace;
  let isObserved = false;
  const observe = async (): Promise<Registration | undefined> => {
    const seen = await client.getWebhook();
    isObserved = true;
    return seen;
  };
  const previous = await getWebhookBeforeSet({ getWebhook: observe }, wanted);
  if (previous !== undefined) {
    rejectOtherBot(previous, workspace, "set-webhook");
    rejectForeign(previous, wanted);
  }
  const ensured = await ensure({ client, wanted, seen: previous, rejectedRounds: REJECTED_ROUNDS });
  if (ensured.failure) throw ensured.failure;
  const { registration } = ensured;
  const otherBot = describeOtherBot(registration, workspace);
  if (previous !== undefined || otherBot === undefined) return { ...ensured, previous };
  // With "replace" it may not be known what was there before.
  const mayUndo = isObserved || wanted.onExisting !== "replace";
  const now = mayUndo
    ? await undo(registration, workspace)
    : `${describe(registration)} is registered there now`;
  throw new ApiChatError(
    "conflict",
    `${formatUrl(workspace.baseUrl)} is a different workspace: ${otherBot}. This shows only after set-webhook; ${now}`,
    { operation: "set-webhook", hints: [{ id: "name_workspace" }] },
  );
}

/** Removes our registration. Describes what is registered now. */
async function undo(ours: Registration, workspace: NamedWorkspace): Promise<string> {
  try {
    const now = await workspace.client.getWebhook();
    if (now !== undefined && !isSameRegistration(now, ours))
      return `${describe(now)}, which somebody else has set in the meantime, is registered there now`;
    if (now !== undefined) await removeSeen(ours, workspace);
    return "the new webhook was removed again, and nothing is registered there now";
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    const reason = renderFailure(error, "command_line");
    const command = `${commandLine()} webhook delete`;
    return `${describe(ours)} was set and could not be removed again (${reason}); ${command} removes it`;
  }
}

const describe = ({ webhookUrl }: Registration): string => formatUrl(webhookUrl);

/**
 * Removes the registration, unless somebody sets a different one meanwhile. Returns what it was; undefined if
 * nothing was registered. With a `webhookUrl`, throws `conflict` if a different URL or bot is registered.
 */
export async function deleteNamed(
  workspace: NamedWorkspace,
  webhookUrl: string | undefined,
): Promise<Registration | undefined> {
  const seen = await workspace.client.getWebhook();
  if (seen === undefined) return undefined;
  if (webhookUrl !== undefined) requireNamed(seen, webhookUrl, workspace);
  await removeSeen(seen, workspace);
  return seen;
}

function requireNamed(seen: Registration, webhookUrl: string, workspace: NamedWorkspace): void {
  rejectOtherBot(seen, workspace, "delete-webhook");
  // Also accepts a URL copied from our output, without the values of its query.
  if (isSameUrl(seen.webhookUrl, webhookUrl) || hideQuery(seen.webhookUrl) === webhookUrl) return;
  const at = formatUrl(workspace.baseUrl);
  throw new ApiChatError(
    "conflict",
    `${at} has the webhook ${describe(seen)}, not ${formatUrl(webhookUrl)}, and it stays`,
    { operation: "delete-webhook", hints: [removeOther(workspace.baseUrl, seen.webhookUrl)] },
  );
}

function rejectOtherBot(
  seen: Registration,
  workspace: NamedWorkspace,
  operation: "set-webhook" | "delete-webhook",
): void {
  const otherBot = describeOtherBot(seen, workspace);
  if (otherBot === undefined) return;
  const hints = [{ id: "name_workspace" as const }];
  throw new ApiChatError("conflict", `${otherBot}, and nothing was written`, { operation, hints });
}

export function describeOtherBot(
  seen: Registration,
  { botUrl }: Pick<NamedWorkspace, "botUrl">,
): string | undefined {
  if (botUrl === undefined || isSameBot(seen.botUrl, botUrl)) return undefined;
  return `the workspace has the bot ${botCodeOf(seen.botUrl)}, not ${botCodeOf(botUrl)}`;
}

const removeSeen = (seen: Registration, { client, baseUrl }: NamedWorkspace): Promise<void> =>
  remove(client, baseUrl, (now) => isSameRegistration(now, seen));

const isSameRegistration = (now: Registration | undefined, seen: Registration): boolean =>
  now !== undefined && isSameUrl(now.webhookUrl, seen.webhookUrl) && isSameBot(now.botUrl, seen.botUrl);
