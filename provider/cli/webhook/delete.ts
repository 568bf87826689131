import { ApiChatError, type Registration } from "../../client/index.js";
import { hideQuery, formatUrl, isSameBot, isSameUrl } from "../../lib/url.js";
import { removeOther, removeRegistration } from "../../webhook/lifecycle.js";
import { EXIT, print, printJson } from "../output.js";
import type { Interruption } from "../run-command.js";
import { openWorkspace, refuseOtherBot, type Access, type WebhookOptions } from "./access.js";

export interface DeleteOptions extends WebhookOptions {
  webhookUrl: string;
  replace?: boolean;
}

/** Removes the registration if it is the one that the options name, and prints that. Gives the exit code. */
export async function deleteWebhook(options: DeleteOptions, interruption: Interruption): Promise<number> {
  const access = await openWorkspace(options, interruption);
  const seen = await access.client.getWebhook();
  if (seen !== undefined) {
    await refuseForeign(seen, options, access);
    await remove(seen, access);
  }
  printResult(options, { seen, baseUrl: access.baseUrl });
  return EXIT.done;
}

async function refuseForeign(
  seen: Registration,
  { webhookUrl, replace = false }: DeleteOptions,
  access: Access,
): Promise<void> {
  if (replace) return;
  await refuseOtherBot(seen, access, "delete-webhook");
  // A URL as our messages show it: without the values of its query.
  if (isSameUrl(seen.webhookUrl, webhookUrl) || hideQuery(seen.webhookUrl) === webhookUrl) return;
  throw new ApiChatError(
    "conflict",
    `${formatUrl(access.baseUrl)} has the webhook ${formatUrl(seen.webhookUrl)}, not ${formatUrl(webhookUrl)}, and it stays`,
    { operation: "delete-webhook", hints: [removeOther(access.baseUrl, seen.webhookUrl)] },
  );
}

/** A repetition removes what was seen, and nothing that somebody has set meanwhile. */
const remove = (seen: Registration, { client, baseUrl }: Access): Promise<void> =>
  removeRegistration(
    client,
    baseUrl,
    (now) =>
      now !== undefined && isSameUrl(now.webhookUrl, seen.webhookUrl) && isSameBot(now.botUrl, seen.botUrl),
  );

function printResult(
  { json }: DeleteOptions,
  { seen, baseUrl }: { seen: Registration | undefined; baseUrl: string },
): void {
  if (seen === undefined) {
    if (json) return printJson({ result: "nothing" });
    return print(`nothing is registered at ${formatUrl(baseUrl)}\n`);
  }
  const webhookUrl = hideQuery(seen.webhookUrl);
  if (json) return printJson({ result: "deleted", webhookUrl });
  print(`deleted ${formatUrl(seen.webhookUrl)} at ${formatUrl(baseUrl)}\n`);
}
