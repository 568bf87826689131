import type { Registration } from "../client/registration-client.js";
import { hideQuery } from "../lib/url.js";
import { expectedUrl, showsOurKey } from "./fence.js";
import { KEY_DRIFTED, inputsOf, type WebhookInputs, type WebhookState } from "./inputs.js";
import { observe, requireSameWorkspace } from "./observe.js";

export interface ReadResult {
  id: string;
  props: WebhookState;
  inputs: WebhookInputs;
}

/**
 * Looks what stands in the workspace. Nothing registered: undefined, and the next `up` creates it. A difference is returned in
 * the inputs too, so that the next preview names it; a changed key is named by diff, which the engine calls at once.
 * Failures of authority and transport are thrown, never undefined.
 */
export async function readWebhook(state: WebhookState): Promise<ReadResult | undefined> {
  const observed = await observe(state);
  requireSameWorkspace(observed, state, { baseUrl: state.baseUrl, operation: "get-webhook" });
  return observed.seen && showDrift(state, observed.seen);
}

function showDrift(state: WebhookState, seen: Registration): ReadResult {
  const { keyDrifted: _, ...rest } = state;
  const hasOurKey = showsOurKey(seen, state);
  const props: WebhookState = {
    ...rest,
    webhookUrl:
      seen.webhookUrl === expectedUrl(state.applied) ? state.applied.url : hideQuery(seen.webhookUrl),
    status: seen.status,
    botUrl: seen.botUrl,
    ...(hasOurKey ? {} : { keyDrifted: true }),
  };
  const inputs = { ...inputsOf(props), ...(hasOurKey ? {} : { webhookVerificationKey: KEY_DRIFTED }) };
  return { id: seen.botUrl, props, inputs };
}
