import { randomBytes } from "node:crypto";
import type { Registration } from "../client/registration-client.js";
import { say } from "../resource/progress.js";
import { printUrl } from "../lib/url.js";
import { firstLook, refuseForeign, registerIfNeeded, sayReplaced } from "./ensure.js";
import { isSameUrl } from "./fence.js";
import type { WebhookInputs, WebhookState } from "./inputs.js";
import { claimBot, isHandedOver } from "./managed.js";
import { createClient } from "./observe.js";
import { UnconfirmedError } from "./register.js";
import { apiKeyFor } from "./settings.js";
import { UnfinishedError, toState } from "./state.js";

interface CreateResult {
  id: string;
  outs: WebhookState;
}

/**
 * Registers the webhook, or adopts what stands there under the same URL: a lost answer of an earlier run, or an import.
 * Another URL is a conflict unless `onExisting` says "replace".
 */
export async function createWebhook(inputs: WebhookInputs): Promise<CreateResult> {
  const { name } = inputs;
  const apiKey = apiKeyFor(inputs.apiKey);
  const client = createClient(inputs, apiKey);
  const since = randomBytes(6).toString("base64url");
  const seen = await firstLook(inputs, () => client.getWebhook());
  if (seen && seen.botUrl !== "") claimBot(seen.botUrl, { name, since });
  if (seen && !isHandedOver(seen)) refuseForeign(seen, inputs);
  try {
    const { registration, wasSet } = await registerIfNeeded({ inputs, client, seen });
    const outs = toState(inputs, registration, { apiKey, since });
    claimBot(outs.botUrl, { name, since });
    sayWhatWasThere(seen, inputs, wasSet);
    return { id: outs.botUrl, outs };
  } catch (error) {
    const left = error instanceof UnconfirmedError && (error.seen ?? mayBeRegistered(seen, inputs));
    if (!left) throw error;
    throw new UnfinishedError(left.botUrl, toState(inputs, left, { apiKey, since }), error);
  }
}

/** Of a workspace that had a webhook the bot is known, so the state can keep what may be registered there by now. */
const mayBeRegistered = (seen: Registration | undefined, inputs: WebhookInputs): Registration | undefined =>
  seen && seen.botUrl !== "" ? { ...inputs, botUrl: seen.botUrl, status: "" } : undefined;

/** The engine prints "created" for what was adopted or replaced too. */
function sayWhatWasThere(
  seen: Registration | undefined,
  { name, webhookUrl }: WebhookInputs,
  wasSet: boolean,
): void {
  if (!seen) return;
  if (isHandedOver(seen)) return;
  if (!isSameUrl(seen.webhookUrl, webhookUrl)) return sayReplaced(name, seen);
  const what = wasSet ? "its key or status differed, so it was set again" : "nothing was written";
  say(name, `adopted ${printUrl(webhookUrl)}, which was registered already; ${what}`);
}
