import { ApiChatError } from "../errors.js";
import { printUrl } from "../url.js";
import { botCodeOf, isLastApiKey, isOurs, isSameBot } from "./fence.js";
import type { WebhookState } from "./inputs.js";
import { managedAs } from "./managed.js";
import { observe, type Observed } from "./observe.js";
import { removeRegistration } from "./remove.js";
import { say } from "../resource/progress.js";
import { apiKeyCandidates } from "./settings.js";

/**
 * Removes the registration while it is ours. Nothing registered is done; somebody else's is left alone, with a warning; one
 * that the program still manages under another name is left alone too. Each repetition looks again first.
 */
export async function deleteWebhook(state: WebhookState): Promise<void> {
  const managed = managedNameOf(state);
  if (managed !== undefined) {
    say(state.name, `the webhook stays: it is still managed by this program, as "${managed}"`);
    return;
  }
  const observed = await observe(state);
  if (!isOursToDelete(observed, state)) return;
  await removeRegistration({
    client: observed.client,
    baseUrl: state.baseUrl,
    mayGo: (seen) => isOursToDelete({ ...observed, seen }, state),
  });
}

function managedNameOf(state: WebhookState): string | undefined {
  const names = apiKeyCandidates(state).map((apiKey) => managedAs({ ...state, ...state.applied, apiKey }));
  return names.find((name) => name !== undefined);
}

function isOursToDelete(observed: Observed, state: WebhookState): boolean {
  const { seen } = observed;
  requireOurWorkspace(observed, state);
  if (!seen) return false;
  if (isOurs(seen, state.applied)) return true;
  say(
    state.name,
    `warning: ${printUrl(state.baseUrl)} now has the webhook ${printUrl(seen.webhookUrl)} of the bot ${botCodeOf(seen.botUrl)}, which is not ours; it is left alone`,
  );
  return false;
}

/** Another API key may reach another workspace, and ours would be orphaned: only the same bot shows that it does not. */
function requireOurWorkspace({ seen, apiKey }: Observed, state: WebhookState): void {
  if (isLastApiKey(apiKey, state) || (seen && isSameBot(seen.botUrl, state.applied.botUrl))) return;
  const what = seen ? `the bot ${botCodeOf(seen.botUrl)}` : "nothing registered";
  throw new ApiChatError(
    "conflict",
    `${printUrl(state.baseUrl)} shows ${what}, but for another API key than the last used, so it may be another workspace, and nothing was deleted. Set the right key, or, if the webhook is gone for good, run pulumi state delete <urn>`,
    { operation: "delete-webhook" },
  );
}
