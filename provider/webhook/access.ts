import { type Observed, createClient, observe, workspaceOf } from "../registration/index.js";
import { type OperationContext, resourceOf } from "./run.js";
import { settingMissing } from "./settings.js";
import { type WebhookInputs, type WebhookState, createClaimId } from "./state.js";

export type Access = ReturnType<typeof accessTo>;

export function accessTo(inputs: WebhookInputs, context: OperationContext, claimId = createClaimId()) {
  const { run, signal } = context;
  const apiKey = run.requireApiKey(inputs.apiKey);
  return {
    inputs,
    wanted: withTimeLimit(inputs, "readySeconds", context),
    run,
    signal,
    apiKey,
    workspace: workspaceOf(inputs.baseUrl, apiKey),
    client: createClient(inputs, apiKey, signal),
    claim: { claimId, name: inputs.name, resource: resourceOf(inputs, context) },
  };
}

export function observeState(
  state: WebhookState,
  apiKeys: readonly string[],
  context: OperationContext,
): Promise<Observed> {
  if (apiKeys.length === 0) throw settingMissing("apiKey");
  const settings = withTimeLimit(state, "requestSeconds", context);
  return observe(apiKeys, (apiKey) => createClient(settings, apiKey, context.signal));
}

/** Unless the inputs set the timeout `limit`, sets it to the engine's time limit (`customTimeouts`). */
export function withTimeLimit<T extends Pick<WebhookInputs, "name" | "timeouts">>(
  inputs: T,
  limit: "requestSeconds" | "readySeconds",
  { limitSeconds }: OperationContext,
): T {
  if (limitSeconds === undefined) return inputs;
  return { ...inputs, timeouts: { [limit]: limitSeconds, ...inputs.timeouts } };
}
