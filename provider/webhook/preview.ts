import type { Registration } from "../client/registration-client.js";
import { ApiChatError } from "../errors/index.js";
import { anySignal } from "../lib/abort.js";
import { isUnknown, UNKNOWN } from "../lib/checks.js";
import { printLine, printWarning } from "../lib/provider-process.js";
import { isSameUrl, formatUrl } from "../lib/url.js";
import { createClaimId, isOurs, type OperationContext, type WebhookInputs } from "./contract.js";
import { createClient, getWebhookBeforeSet, refuseForeign } from "./observe.js";
import { requireApiKey, claimBot, replacedBy, resourceOf, workspaceOf } from "./run.js";

/** Time limit for the get-webhook call of a preview, in milliseconds. */
const PREVIEW_TIMEOUT_MS = 5_000;

/**
 * Checks, in a preview, what a create would find, and writes nothing. Returns the registration that the create would
 * adopt, or throws the same `conflict`. Returns undefined for a replacement, because our registration is set again. Any
 * other failure is only a warning: a preview may run where the service cannot be reached.
 */
export async function previewCreate(
  inputs: WebhookInputs,
  context: OperationContext = {},
): Promise<Registration | undefined> {
  const { name, baseUrl, webhookUrl } = inputs;
  const { signal } = context;
  const apiKey = requireApiKey(inputs.apiKey);
  if (baseUrl === UNKNOWN || apiKey === UNKNOWN) return undefined;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(tooLate(baseUrl)), PREVIEW_TIMEOUT_MS);
  try {
    const client = createClient({ name, baseUrl }, apiKey, { signal: anySignal(signal, late.signal) });
    const seen = await getWebhookBeforeSet(client, inputs);
    if (!seen) return undefined;
    const resource = resourceOf(inputs, context);
    const { state: former } = replacedBy(workspaceOf(baseUrl, apiKey), resource);
    if (former && isOurs(seen, former.applied)) return undefined;
    if (isUnknown([webhookUrl, inputs.onExisting])) {
      const registered = `${formatUrl(baseUrl)} already has the webhook ${formatUrl(seen.webhookUrl)}`;
      printLine(name, `${registered}; it is not known yet whether pulumi up can proceed`);
      return undefined;
    }
    refuseForeign(seen, inputs);
    if (seen.botUrl !== "") claimBot(seen.botUrl, { claimId: createClaimId(), name, resource });
    return isSameUrl(seen.webhookUrl, webhookUrl) ? seen : undefined;
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof ApiChatError) || error.code === "conflict") throw error;
    printWarning(name, `${error.summary}; cannot tell what pulumi up would adopt`);
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

const tooLate = (baseUrl: string): ApiChatError =>
  new ApiChatError("timeout", `${formatUrl(baseUrl)} did not answer within ${PREVIEW_TIMEOUT_MS / 1000} s`, {
    operation: "get-webhook",
  });
