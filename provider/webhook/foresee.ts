import type { Registration } from "../client/internal.js";
import { ApiChatError } from "../errors/index.js";
import { formatUrl, isSameUrl } from "../lib/url.js";
import { isUnknown } from "../pulumi/unknown.js";
import { rejectForeign } from "../registration/index.js";
import { accessTo } from "./access.js";
import { lookBeforeCreate, lookBeforeUpdate } from "./lifecycle.js";
import type { OperationContext } from "./run.js";
import type { WebhookInputs, WebhookState } from "./state.js";

const PREVIEW_TIMEOUTS = { requestSeconds: 5 };

export interface Foreseen {
  seen?: Registration;
  conflict?: ApiChatError;
  line?: { kind: "info" | "warning"; text: string };
}

/**
 * Predicts what a create would find. Reports nothing if a replacement's create would find our own registration.
 * Failures other than conflicts are only warnings: a preview may run where the service cannot be reached.
 */
export async function previewCreate(inputs: WebhookInputs, context: OperationContext): Promise<Foreseen> {
  const { baseUrl, webhookUrl, onExisting } = inputs;
  if (isUnknown([baseUrl, context.run.requireApiKey(inputs.apiKey)])) return {};
  let seen: Registration | undefined;
  try {
    const access = accessTo({ ...inputs, timeouts: PREVIEW_TIMEOUTS }, context);
    const found = await lookBeforeCreate(access);
    seen = found.seen;
    if (!seen || found.ours) return {};
    if (isUnknown([webhookUrl, onExisting])) {
      const registered = `${formatUrl(baseUrl)} already has the webhook ${formatUrl(seen.webhookUrl)}`;
      const text = `${registered}; it is not known yet whether pulumi up can proceed`;
      return { line: { kind: "info", text } };
    }
    rejectForeign(seen, inputs, context.run.recordedBy(seen, access.claim));
    context.run.claimBot(seen.botUrl, access.claim);
    if (!isSameUrl(seen.webhookUrl, webhookUrl)) return {};
    const text = `adopts ${formatUrl(seen.webhookUrl)}, which is already registered`;
    return { seen, line: { kind: "info", text } };
  } catch (error) {
    context.signal?.throwIfAborted();
    if (!(error instanceof ApiChatError)) throw error;
    if (seen) return { seen, conflict: error };
    const advice = error.code === "unauthorized" ? "; check the API key, or pulumi up will fail" : "";
    const text = `${error.summary}; cannot tell what pulumi up would adopt${advice}`;
    return { line: { kind: "warning", text } };
  }
}

/** Predicts, in a preview, whether an update would fail before it writes. Any failure is only a warning. */
export async function previewUpdate(
  state: WebhookState,
  inputs: WebhookInputs,
  context: OperationContext,
): Promise<Foreseen["line"]> {
  const { baseUrl, webhookUrl, onExisting } = inputs;
  const apiKey = context.run.requireApiKey(inputs.apiKey);
  if (isUnknown([baseUrl, apiKey, webhookUrl, onExisting])) return undefined;
  try {
    const limited = { ...inputs, timeouts: PREVIEW_TIMEOUTS };
    await lookBeforeUpdate(accessTo(limited, context, state.applied.claimId), state);
    return undefined;
  } catch (error) {
    context.signal?.throwIfAborted();
    if (!(error instanceof ApiChatError)) throw error;
    const isTemporary = error.code === "unavailable" || error.code === "timeout";
    const outlook = isTemporary ? "cannot tell whether pulumi up will succeed" : "pulumi up will fail";
    return { kind: "warning", text: `${outlook}: ${error.message}` };
  }
}
