import { randomBytes } from "node:crypto";
import { firstLook, refuseForeign, registerIfNeeded } from "./ensure.js";
import type { WebhookInputs, WebhookState } from "./inputs.js";
import { claimBot } from "./managed.js";
import { createClient } from "./observe.js";
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
  if (seen) refuseForeign(seen, inputs);
  if (seen && seen.botUrl !== "") claimBot(seen.botUrl, { name, since });
  const registered = await registerIfNeeded({ inputs, client, seen });
  const outs = toState(inputs, registered.seen, { apiKey, since });
  claimBot(outs.botUrl, { name, since });
  if (registered.unfinished !== undefined)
    throw new UnfinishedError(outs.botUrl, outs, registered.unfinished);
  return { id: outs.botUrl, outs };
}
