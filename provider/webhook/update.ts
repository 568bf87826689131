import type { Registration } from "../client/registration-client.js";
import { ApiChatError } from "../errors.js";
import { hideQuery, printUrl } from "../url.js";
import { expectedUrl, isOurs, isSameUrl, showsOurKey } from "./fence.js";
import { DEFAULT_ON_EXISTING, VERIFIED, type WebhookInputs, type WebhookState } from "./inputs.js";
import { claimBot } from "./managed.js";
import { createClient, requireSameWorkspace } from "./observe.js";
import { register, rememberBefore } from "./register.js";
import { apiKeyFor } from "./settings.js";
import { UnfinishedError, toState } from "./state.js";

/**
 * Brings the registration to what the program says, and calls set-webhook only if URL, key or status differ from what
 * stands there. Touches it only while it is ours, or drifted in a way that a refresh has shown.
 */
export async function updateWebhook(
  id: string,
  state: WebhookState,
  inputs: WebhookInputs,
): Promise<{ outs: WebhookState }> {
  const { since } = state.applied;
  const apiKey = apiKeyFor(inputs.apiKey);
  const client = createClient(inputs, apiKey);
  const seen = await client.getWebhook();
  requireSameWorkspace({ seen, apiKey }, state, { baseUrl: inputs.baseUrl, operation: "set-webhook" });
  claimBot(state.applied.botUrl, { name: inputs.name, since });
  if (seen) refuseTakenOver(seen, state, inputs);
  if (isStillAsWanted(seen, state, inputs)) return { outs: toState(inputs, seen, { apiKey, since }) };
  const registered = await register({ inputs, client, before: rememberBefore(seen, state) });
  const outs = toState(inputs, registered.seen, { apiKey, since });
  if (registered.unfinished !== undefined) throw new UnfinishedError(id, outs, registered.unfinished);
  return { outs };
}

/**
 * Another URL with another key is somebody else's registration. Another URL with our key is ours, changed by hand: it is
 * repaired once a refresh has shown it, because then the preview named it.
 */
function refuseTakenOver(seen: Registration, state: WebhookState, inputs: WebhookInputs): void {
  const isWanted = isSameUrl(seen.webhookUrl, inputs.webhookUrl);
  const isShownDrift = hideQuery(seen.webhookUrl) === state.webhookUrl && showsOurKey(seen, state);
  const mayReplace = (inputs.onExisting ?? DEFAULT_ON_EXISTING) === "replace";
  if (isOurs(seen, state.applied) || isWanted || isShownDrift || mayReplace) return;
  const mend = showsOurKey(seen, state)
    ? "Run pulumi refresh to see it, and pulumi up to set it right"
    : 'Its key is not ours either, so it is somebody else\'s. If it may go, set onExisting: "replace"';
  throw new ApiChatError(
    "conflict",
    `${printUrl(inputs.baseUrl)} now has the webhook ${printUrl(seen.webhookUrl)}, not ${printUrl(state.applied.url)}, and nothing was written. ${mend}`,
    { operation: "set-webhook" },
  );
}

/** Compared with how the service showed it when we last set it: it may write URLs in its own way and mask keys. */
function isStillAsWanted(
  seen: Registration | undefined,
  state: WebhookState,
  inputs: WebhookInputs,
): seen is Registration {
  if (!seen || seen.status !== VERIFIED) return false;
  const { applied, webhookVerificationKey: ourKey } = state;
  const isWantedUrl =
    seen.webhookUrl === inputs.webhookUrl ||
    (seen.webhookUrl === expectedUrl(applied) && inputs.webhookUrl === applied.url);
  const isWantedKey =
    seen.webhookVerificationKey === inputs.webhookVerificationKey ||
    (inputs.webhookVerificationKey === ourKey && showsOurKey(seen, state));
  return isWantedUrl && isWantedKey;
}
