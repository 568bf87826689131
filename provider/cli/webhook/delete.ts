import { ApiChatError, type Registration } from "../../client/index.js";
import { hideQuery, formatUrl, isSameUrl } from "../../lib/url.js";
import { removeOther } from "../../webhook/lifecycle.js";
import { EXIT, printResult } from "../output.js";
import type { Run } from "../run-command.js";
import { openWorkspace, refuseOtherBot, removeSeen, type Access, type WebhookOptions } from "./access.js";

export interface DeleteOptions extends WebhookOptions {
  webhookUrl: string;
  replace?: boolean;
}

/** Removes the registration if it is the one that the options name, and prints that. Returns the exit code. */
export async function deleteWebhook(options: DeleteOptions, run: Run): Promise<number> {
  const access = await openWorkspace(options, run);
  const at = formatUrl(access.baseUrl);
  const seen = await access.client.getWebhook();
  if (seen === undefined) {
    printResult(options, { result: "nothing" }, () => `nothing is registered at ${at}\n`);
    return EXIT.done;
  }
  await refuseForeign(seen, options, access);
  await removeSeen(seen, access);
  const deleted = { result: "deleted", webhookUrl: hideQuery(seen.webhookUrl) };
  printResult(options, deleted, () => `deleted ${formatUrl(seen.webhookUrl)} at ${at}\n`);
  return EXIT.done;
}

async function refuseForeign(
  seen: Registration,
  { webhookUrl, replace = false }: DeleteOptions,
  access: Access,
): Promise<void> {
  if (replace) return;
  await refuseOtherBot(seen, access, "delete-webhook");
  // Also accepts a URL copied from our output, without the values of its query.
  if (isSameUrl(seen.webhookUrl, webhookUrl) || hideQuery(seen.webhookUrl) === webhookUrl) return;
  throw new ApiChatError(
    "conflict",
    `${formatUrl(access.baseUrl)} has the webhook ${formatUrl(seen.webhookUrl)}, not ${formatUrl(webhookUrl)}, and it stays`,
    { operation: "delete-webhook", hints: [removeOther(access.baseUrl, seen.webhookUrl)] },
  );
}
