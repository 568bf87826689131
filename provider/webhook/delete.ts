import { ApiChatError } from "../client/index.js";
import { printUrl } from "../redact.js";
import { botCodeOf, isLastApiKey, isOurs } from "./fence.js";
import type { WebhookState } from "./inputs.js";
import { managedAs } from "./managed.js";
import { observe, type Observed } from "./observe.js";
import { say } from "./progress.js";

/**
 * Removes the registration while it is ours. Nothing registered is done; somebody else's is left alone, with a warning; one
 * that the program still manages under another name is left alone too. Each repetition looks again first.
 */
export async function deleteWebhook(state: WebhookState): Promise<void> {
  const observed = await observe(state);
  const managed = managedAs({ ...state, ...state.applied, apiKey: observed.apiKey });
  if (managed !== undefined) {
    say(state.name, `the webhook stays: it is still managed by this program, as "${managed}"`);
    return;
  }
  if (!isOursToDelete(observed, state)) return;
  const left = await observed.client.deleteWebhook({
    beforeRepeat: async () =>
      isOursToDelete({ ...observed, seen: await observed.client.getWebhook() }, state),
  });
  if (left === undefined) return;
  throw new ApiChatError(
    "protocol",
    `${printUrl(state.baseUrl)} still shows ${printUrl(left.webhookUrl)} after delete-webhook; run pulumi refresh and try again`,
    { operation: "delete-webhook" },
  );
}

function isOursToDelete({ seen, apiKey }: Observed, state: WebhookState): boolean {
  if (!seen) {
    requireLastApiKey(apiKey, state);
    return false;
  }
  if (isOurs(seen, state.applied)) return true;
  say(
    state.name,
    `warning: ${printUrl(state.baseUrl)} now has the webhook ${printUrl(seen.webhookUrl)} of the bot ${botCodeOf(seen.botUrl)}, which is not ours; it is left alone`,
  );
  return false;
}

/** An empty workspace behind another API key may be another workspace, and ours would be orphaned. */
function requireLastApiKey(apiKey: string, state: WebhookState): void {
  if (isLastApiKey(apiKey, state)) return;
  throw new ApiChatError(
    "conflict",
    `${printUrl(state.baseUrl)} shows nothing registered, but for another API key than the last used, so it may be another workspace. Set the right key, or, if the webhook is gone for good, run pulumi state delete`,
    { operation: "delete-webhook" },
  );
}
