// A separate entry file for commands. They have no state: a webhook is ours if it has the URL that the user names.

import type { Registration } from "../client/internal.js";
import { ApiChatError } from "../errors/index.js";
import { formatUrl, hideQuery, isSameBot, isSameUrl } from "../lib/url.js";
import { ensure, type Ensured } from "./ensure.js";
import { rejectForeign, removeOther } from "./foreign.js";
import { remove } from "./remove.js";
import type { WantedWebhook } from "./wanted.js";
import { getWebhookBeforeSet, type WorkspaceClient } from "./workspace.js";

/** A command gives up after this many rejections of the key: unlike `up`, it does not deploy the endpoint. */
const REJECTED_ROUNDS = 3;

/** Registers a webhook as the resource does. */
export async function setNamed(
  client: WorkspaceClient,
  wanted: WantedWebhook,
): Promise<Ensured & { previous: Registration | undefined }> {
  const previous = await getWebhookBeforeSet(client, wanted);
  if (previous !== undefined) rejectForeign(previous, wanted);
  const ensured = await ensure({ client, wanted, seen: previous, rejectedRounds: REJECTED_ROUNDS });
  if (ensured.failure) throw ensured.failure;
  return { ...ensured, previous };
}

/**
 * Removes the registration, unless someone replaces it in the meantime. Returns the removed registration;
 * undefined if there was none. With a `webhookUrl`, throws `conflict` if a different URL is registered.
 */
export async function deleteNamed(
  client: WorkspaceClient,
  { baseUrl, webhookUrl }: { baseUrl: string; webhookUrl: string | undefined },
): Promise<Registration | undefined> {
  const seen = await client.getWebhook();
  if (seen === undefined) return undefined;
  if (webhookUrl !== undefined) requireNamed(seen, { baseUrl, webhookUrl });
  await remove(client, baseUrl, (now) => now !== undefined && isSameRegistration(now, seen));
  return seen;
}

function requireNamed(
  seen: Registration,
  { baseUrl, webhookUrl }: { baseUrl: string; webhookUrl: string },
): void {
  // Also accepts a URL copied from our output, which hides the values of a query.
  if (isSameUrl(seen.webhookUrl, webhookUrl) || hideQuery(seen.webhookUrl) === webhookUrl) return;
  throw new ApiChatError(
    "conflict",
    `${formatUrl(baseUrl)} has the webhook ${formatUrl(seen.webhookUrl)}, not ${formatUrl(webhookUrl)}; ` +
      "nothing was removed",
    { operation: "delete-webhook", hints: [removeOther(baseUrl, seen.webhookUrl)] },
  );
}

const isSameRegistration = (now: Registration, seen: Registration): boolean =>
  isSameUrl(now.webhookUrl, seen.webhookUrl) && isSameBot(now.botUrl, seen.botUrl);
