import type { Registration } from "../client/registration-client.js";
import { ApiChatError } from "../errors/index.js";
import { rememberApplied } from "./fence.js";
import type { Applied, WebhookInputs, WebhookState } from "./inputs.js";

type AppliedUrls = Pick<Applied, "url" | "botUrl">;

/** A state as it is stored: what `applied` repeats of the outputs is left out. */
export interface StoredState extends Omit<WebhookState, "applied"> {
  applied: Omit<Applied, keyof AppliedUrls> & Partial<AppliedUrls>;
}

/** Leaves out what stands in the state twice: the engine writes the state of all resources at every step. */
export function compactState(state: WebhookState): StoredState {
  const { url, botUrl, ...applied } = state.applied;
  return {
    ...state,
    applied: {
      ...applied,
      ...(url === state.webhookUrl ? {} : { url }),
      ...(botUrl === state.botUrl ? {} : { botUrl }),
    },
  };
}

/** The reverse. Throws `invalid_config` for what is no state of ours: a read by id gives the inputs alone. */
export function expandState(stored: StoredState): WebhookState {
  if (stored.applied === undefined) throw notInState();
  const { webhookUrl: url, botUrl } = stored;
  return { ...stored, applied: { url, botUrl, ...stored.applied } };
}

function notInState(): ApiChatError {
  return new ApiChatError(
    "invalid_config",
    "a webhook cannot be read by its id alone; use getApiChatWebhook() to read a registration, or declare it as a new ApiChatWebhook: the same URL is adopted",
    { operation: "get-webhook" },
  );
}

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
  readonly properties: StoredState;
  readonly reasons: string[];

  constructor(id: string, properties: WebhookState, { message }: Error) {
    const reason = `${properties.name}: ${message}`;
    super(reason);
    this.id = id;
    this.properties = compactState(properties);
    this.reasons = [reason];
  }
}
