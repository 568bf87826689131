import type { Registration } from "../client/internal.js";
import { createClient } from "../registration/index.js";
import { type OperationContext, resourceOf } from "./run.js";
import { type WebhookInputs, type WebhookState, createClaimId, toWebhookState } from "./state.js";

/** What an operation on one webhook needs. */
export type Access = ReturnType<typeof accessTo>;

/** Opens the workspace of a webhook. `toOuts` makes the state of what is registered there. */
export function accessTo(inputs: WebhookInputs, context: OperationContext, claimId = createClaimId()) {
  const { run, signal } = context;
  const { apiKey, workspace } = run.targetOf(inputs);
  return {
    inputs,
    context,
    run,
    apiKey,
    workspace,
    client: createClient(inputs, apiKey, signal),
    claim: { claimId, name: inputs.name, resource: resourceOf(inputs, context) },
    toOuts: (seen: Registration, adopted = false): WebhookState =>
      toWebhookState(inputs, seen, { apiKey, claimId, adopted }),
  };
}

/**
 * Applies the engine's time limit (`customTimeouts`) to the timeout named by `limit`, unless the program sets that
 * timeout itself. It applies to this operation only, so it is never stored in the state.
 */
export function withTimeLimit<T extends Pick<WebhookInputs, "name" | "timeouts">>(
  inputs: T,
  limit: "requestSeconds" | "readySeconds",
  { limitSeconds }: OperationContext,
): T {
  if (limitSeconds === undefined) return inputs;
  return { ...inputs, timeouts: { [limit]: limitSeconds, ...inputs.timeouts } };
}
