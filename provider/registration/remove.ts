import type { Registration } from "../client/internal.js";
import { ApiChatError } from "../errors/index.js";
import { formatUrl } from "../lib/url.js";
import type { WorkspaceClient } from "./workspace.js";

/** Removes the webhook; asks `mayRemove` before each retry. Throws `protocol` if one is still registered afterwards. */
export async function remove(
  client: WorkspaceClient,
  baseUrl: string,
  mayRemove: (seen: Registration | undefined) => boolean,
): Promise<void> {
  const left = await client
    .deleteWebhook({ beforeRepeat: async () => mayRemove(await client.getWebhook()) })
    .catch((error: unknown) => requireRemoved(client, error));
  if (left === undefined) return;
  throw new ApiChatError(
    "protocol",
    `${formatUrl(baseUrl)} still shows ${formatUrl(left.webhookUrl)} after delete-webhook`,
    { operation: "delete-webhook", hints: [{ id: "delete_again" }] },
  );
}

/** A delete-webhook whose response was lost has succeeded if nothing is registered. */
async function requireRemoved(client: WorkspaceClient, lost: unknown): Promise<undefined> {
  if (!(lost instanceof ApiChatError) || !lost.mayHaveTakenEffect) throw lost;
  const now = await client.getWebhook().catch((error: unknown) => {
    throw error instanceof ApiChatError ? lost : error;
  });
  if (now !== undefined) throw lost;
}
