import type { Registration } from "../client/registration-client.js";
import { ApiChatError } from "../errors/index.js";
import { hideQuery, printUrl } from "../lib/url.js";
import { removeOther, sayReplaced } from "./ensure.js";
import { expectedUrl, isOurs, isSameUrl, showsOurKey } from "./fence.js";
import { VERIFIED, type WebhookInputs, type WebhookState } from "./inputs.js";
import { claimBot } from "./managed.js";
import { createClient, requireSameWorkspace } from "./observe.js";
import { UnconfirmedError, register, rememberBefore } from "./register.js";
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
  const isTakenOver = seen !== undefined && isForeign(seen, state, inputs);
  if (isTakenOver && inputs.onExisting !== "replace") throw takenOver(seen, state, inputs);
  if (seen && isStillAsWanted(seen, state, inputs)) return { outs: toState(inputs, seen, { apiKey, since }) };
  try {
    const registration = await register({ inputs, client, before: rememberBefore(seen, state) });
    if (isTakenOver) sayReplaced(inputs.name, seen);
    return { outs: toState(inputs, registration, { apiKey, since }) };
  } catch (error) {
    if (!(error instanceof UnconfirmedError)) throw error;
    const outs = error.seen ? toState(inputs, error.seen, { apiKey, since }) : withAttempt(state, inputs);
    throw new UnfinishedError(id, outs, error);
  }
}

/** The state as it was, and the URL that may be registered by now: it is ours too. */
function withAttempt(state: WebhookState, { name, webhookUrl }: WebhookInputs): WebhookState {
  const attempted = [...new Set([...(state.applied.attempted ?? []), webhookUrl])];
  return { ...state, name, applied: { ...state.applied, attempted } };
}

/**
 * Another URL with another key is somebody else's registration. Another URL with our key is ours, changed by hand: it is
 * repaired once a refresh has shown it, because then the preview named it.
 */
function isForeign(seen: Registration, state: WebhookState, inputs: WebhookInputs): boolean {
  const isWanted = isSameUrl(seen.webhookUrl, inputs.webhookUrl);
  const isShownDrift = hideQuery(seen.webhookUrl) === state.webhookUrl && showsOurKey(seen, state);
  return !isOurs(seen, state.applied) && !isWanted && !isShownDrift;
}

function takenOver(seen: Registration, state: WebhookState, inputs: WebhookInputs): ApiChatError {
  const hasOurKey = showsOurKey(seen, state);
  const whose = hasOurKey ? "" : ". Its key is not ours either, so it is somebody else's";
  return new ApiChatError(
    "conflict",
    `${printUrl(inputs.baseUrl)} now has the webhook ${printUrl(seen.webhookUrl)}, not ${printUrl(state.applied.url)}, and nothing was written${whose}`,
    {
      operation: "set-webhook",
      facts: { at: printUrl(inputs.baseUrl), registered: printUrl(seen.webhookUrl) },
      hints: [hasOurKey ? { id: "refresh_first" } : removeOther(inputs.baseUrl, seen.webhookUrl)],
    },
  );
}

/** Compared with how the service showed it when we last set it: it may write URLs in its own way and mask keys. */
function isStillAsWanted(seen: Registration, state: WebhookState, inputs: WebhookInputs): boolean {
  if (seen.status !== VERIFIED) return false;
  const { applied, webhookVerificationKey: ourKey } = state;
  const isWantedUrl =
    seen.webhookUrl === inputs.webhookUrl ||
    (seen.webhookUrl === expectedUrl(applied) && inputs.webhookUrl === applied.url);
  const isWantedKey =
    seen.webhookVerificationKey === inputs.webhookVerificationKey ||
    (inputs.webhookVerificationKey === ourKey && showsOurKey(seen, state));
  return isWantedUrl && isWantedKey;
}
