import { randomBytes } from "node:crypto";
import { ApiChatError, type Registration } from "../client/index.js";
import { printUrl } from "../url.js";
import { isSameUrl } from "./fence.js";
import { DEFAULT_ON_EXISTING, VERIFIED, type WebhookInputs, type WebhookState } from "./inputs.js";
import { claimBot } from "./managed.js";
import { createClient } from "./observe.js";
import { register, rememberBefore, type Registered } from "./register.js";
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
  const registered: Registered = isAsWanted(seen, inputs)
    ? { seen }
    : await register({ inputs, client, before: rememberBefore(seen) });
  const outs = toState(inputs, registered.seen, { apiKey, since });
  claimBot(outs.botUrl, { name, since });
  if (registered.unfinished !== undefined)
    throw new UnfinishedError(outs.botUrl, outs, registered.unfinished);
  return { id: outs.botUrl, outs };
}

/** What stands there before the first set. The specification does not show it, so 404 counts as nothing too. */
async function firstLook(
  { onExisting = DEFAULT_ON_EXISTING }: WebhookInputs,
  look: () => Promise<Registration | undefined>,
): Promise<Registration | undefined> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    if (error.code === "rejected" && error.httpStatus === 404) return undefined;
    if (error.code !== "rejected" && error.code !== "protocol") throw error;
    if (onExisting === "replace") return undefined;
    error.message +=
      '. Nothing was written, because it is not known what stands there; onExisting: "replace" goes on without this look';
    throw error;
  }
}

function refuseForeign(seen: Registration, inputs: WebhookInputs): void {
  const { baseUrl, webhookUrl, onExisting = DEFAULT_ON_EXISTING } = inputs;
  if (onExisting === "replace" || isSameUrl(seen.webhookUrl, webhookUrl)) return;
  throw new ApiChatError(
    "conflict",
    `${printUrl(baseUrl)} has a webhook already, ${printUrl(seen.webhookUrl)}, and nothing was written. ` +
      'If it may go, set onExisting: "replace"; if this resource was renamed, give it an alias',
    { operation: "set-webhook" },
  );
}

/** Nothing is left to set: our URL, our key in clear, verified, and a bot URL. */
function isAsWanted(seen: Registration | undefined, inputs: WebhookInputs): seen is Registration {
  return (
    seen !== undefined &&
    isSameUrl(seen.webhookUrl, inputs.webhookUrl) &&
    seen.webhookVerificationKey === inputs.webhookVerificationKey &&
    seen.status === VERIFIED &&
    seen.botUrl !== ""
  );
}
