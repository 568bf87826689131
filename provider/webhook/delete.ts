import type { Registration, RegistrationClient } from "../client/registration-client.js";
import { ApiChatError } from "../errors/index.js";
import { UNKNOWN } from "../lib/checks.js";
import { botCodeOf, isSameBot, printUrl } from "../lib/url.js";
import { printLine } from "../resource/process.js";
import type { WebhookInputs, WebhookState } from "./contract.js";
import { observe, type Observed } from "./observe.js";
import { mayHaveTakenEffect, tryEndpoint } from "./register.js";
import { declaredFor, handOver, managerOf, nameOf } from "./run.js";
import { isLastApiKey, isOurs } from "./state.js";

/**
 * Removes the registration while it is ours. If nothing is registered, it succeeds; somebody else's stays, with a warning; one
 * that the program still manages under another name stays too. Each repetition reads it again first. Where the program replaces
 * the webhook, the handshake of the new one comes first: a live webhook is not removed for one that cannot be registered.
 */
export async function deleteWebhook(state: WebhookState): Promise<void> {
  const manager = managerOf(state);
  if (manager) {
    if (manager.toCreate) await tryReplacement(manager.toCreate);
    handOver(state);
    printLine(nameOf(state), `the webhook stays: it is still managed by this program, as "${manager.name}"`);
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
  printLine(
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
  const at = printUrl(state.baseUrl);
  if (!seen && replacement) {
    return printLine(
      nameOf(state),
      `warning: ${at} shows nothing registered, for another API key than the last used; if that key is for another workspace, the earlier webhook is still registered in its own`,
    );
  }
  const what = seen ? `the bot ${botCodeOf(seen.botUrl)}` : "nothing registered";
  throw new ApiChatError(
    "conflict",
    `${at} shows ${what}, but for another API key than the last used, so it may be another workspace, and nothing was deleted`,
    { operation: "delete-webhook", facts: { at }, hints: [{ id: "set_api_key_or_forget" }] },
  );
}

export interface RemoveOptions {
  client: RegistrationClient;
  baseUrl: string;
  /** Asked with what is registered before each repetition. */
  mayGo: (seen: Registration | undefined) => boolean;
}

/** Calls delete-webhook; each repetition reads first. Throws `protocol` if the service shows that something is left. */
export async function removeRegistration({ client, baseUrl, mayGo }: RemoveOptions): Promise<void> {
  const left = await client
    .deleteWebhook({ beforeRepeat: async () => mayGo(await client.getWebhook()) })
    .catch((error: unknown) => observeEffect(client, error));
  if (left === undefined) return;
  throw new ApiChatError(
    "protocol",
    `${printUrl(baseUrl)} still shows ${printUrl(left.webhookUrl)} after delete-webhook`,
    { operation: "delete-webhook", hints: [{ id: "delete_again" }] },
  );
}

/** After a delete-webhook whose answer is lost: if nothing is registered now, it took effect. */
async function observeEffect(client: RegistrationClient, lost: unknown): Promise<undefined> {
  if (!(lost instanceof ApiChatError) || !mayHaveTakenEffect(lost)) throw lost;
  const now = await client.getWebhook().catch((error: unknown) => {
    throw error instanceof ApiChatError ? lost : error;
  });
  if (now !== undefined) throw lost;
}
