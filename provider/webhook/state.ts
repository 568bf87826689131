import type { Registration } from "../client/index.js";
import { rememberApplied } from "./fence.js";
import type { WebhookInputs, WebhookState } from "./inputs.js";

/** The outputs after a registration was set or adopted: what the program said, and what stands there. */
export function toState(
  inputs: WebhookInputs,
  seen: Registration,
  { apiKey, since }: { apiKey: string; since: string },
): WebhookState {
  return {
    ...inputs,
    status: seen.status,
    botUrl: seen.botUrl,
    stateVersion: 1,
    applied: rememberApplied(seen, { ...inputs, apiKey, since }),
  };
}

/** Tells the engine to keep a state that is only partly done; the next `up` calls update. It prints only `reasons`. */
export class UnfinishedError extends Error {
  readonly id: string;
  readonly properties: WebhookState;
  readonly reasons: string[];

  constructor(id: string, properties: WebhookState, reason: string) {
    super(reason);
    this.id = id;
    this.properties = properties;
    this.reasons = [reason];
  }
}
