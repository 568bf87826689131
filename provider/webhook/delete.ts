import { ApiChatError } from "../errors/index.js";
import { printUrl } from "../lib/url.js";
import { botCodeOf, isLastApiKey, isOurs, isSameBot } from "./fence.js";
import { UNKNOWN } from "../resource/unknown.js";
import type { WebhookInputs, WebhookState } from "./inputs.js";
import { declaredFor, handOver, managerOf, nameOf } from "./managed.js";
import { observe, type Observed } from "./observe.js";
import { tryEndpoint } from "./register.js";
import { removeRegistration } from "./remove.js";
import { say } from "../resource/progress.js";
import { apiKeyCandidates } from "./settings.js";

/**
 * Removes the registration while it is ours. If nothing is registered, it succeeds; somebody else's stays, with a warning; one
 * that the program still manages under another name stays too. Each repetition looks again first. Where the program replaces
 * the webhook, the handshake of the new one comes first: a live webhook is not removed for one that cannot be registered.
 */
export async function deleteWebhook(state: WebhookState): Promise<void> {
  const manager = managerOf(state, () => apiKeyCandidates(state));
  if (manager) {
    if (manager.toCreate) await tryReplacement(manager.toCreate);
    handOver(state);
    say(nameOf(state), `the webhook stays: it is still managed by this program, as "${manager.name}"`);
    return;
  }
  const replacement = declaredFor(state)?.inputs;
  const observed = await observe(state);
  if (!isOursToDelete(observed, state, replacement)) return;
  if (replacement) await tryReplacement(replacement);
  await removeRegistration({
    client: observed.client,
    baseUrl: state.baseUrl,
    mayGo: (seen) => isOursToDelete({ ...observed, seen }, state, replacement),
  });
}

/** Performs its handshake, unless it depends on something that is replaced too and is not known yet. */
async function tryReplacement(inputs: WebhookInputs): Promise<void> {
  const isKnown = inputs.webhookUrl !== UNKNOWN && inputs.webhookVerificationKey !== UNKNOWN;
  if (isKnown) await tryEndpoint({ inputs });
}

function isOursToDelete(
  observed: Observed,
  state: WebhookState,
  replacement: WebhookInputs | undefined,
): boolean {
  const { seen } = observed;
  requireOurWorkspace(observed, state, replacement);
  if (!seen) return false;
  if (isOurs(seen, state.applied)) return true;
  say(
    nameOf(state),
    `warning: ${printUrl(state.baseUrl)} now has the webhook ${printUrl(seen.webhookUrl)} of the bot ${botCodeOf(seen.botUrl)}, which is not ours; it stays`,
  );
  return false;
}

/**
 * Another API key may reach another workspace, and ours would be orphaned: only the same bot shows that it does not. A
 * replacement goes on where nothing is registered: the program says where the webhook is now.
 */
function requireOurWorkspace(
  { seen, apiKey }: Observed,
  state: WebhookState,
  replacement: WebhookInputs | undefined,
): void {
  if (isLastApiKey(apiKey, state) || (seen && isSameBot(seen.botUrl, state.applied.botUrl))) return;
  if (!seen && replacement) {
    return say(
      nameOf(state),
      `warning: ${printUrl(state.baseUrl)} shows nothing registered, for another API key than the last used; if that key is for another workspace, the earlier webhook is still registered in its own`,
    );
  }
  const what = seen ? `the bot ${botCodeOf(seen.botUrl)}` : "nothing registered";
  throw new ApiChatError(
    "conflict",
    `${printUrl(state.baseUrl)} shows ${what}, but for another API key than the last used, so it may be another workspace, and nothing was deleted`,
    { operation: "delete-webhook", hints: [{ id: "set_api_key_or_forget" }] },
  );
}
