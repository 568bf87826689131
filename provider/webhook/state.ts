import { createHmac } from "node:crypto";
import type { Registration } from "../client/registration-client.js";
import { ApiChatError } from "../errors/index.js";
import { isSameBot, isSameUrl } from "../lib/url.js";
import { describeFailure } from "../resource/process.js";
import type { Applied, DriftedProperty, WebhookInputs, WebhookState } from "./contract.js";

/** The URL that get-webhook shows while nothing has changed since we set or adopted it. */
export const expectedUrl = (applied: Applied): string => applied.echoUrl ?? applied.url;

/** Whether a registration is the one that we last set, tried to set, or adopted: by its URL and its bot. */
export const isOurs = (seen: Registration, applied: Applied): boolean =>
  isOurUrl(seen.webhookUrl, applied) && isSameBot(seen.botUrl, applied.botUrl);

/** Whether a URL is the one that we last set or adopted, or one that we tried to set since. */
export const isOurUrl = (url: string, applied: Applied): boolean =>
  url === expectedUrl(applied) ||
  [applied.url, ...(applied.attempted ?? [])].some((our) => isSameUrl(url, our));

/** Whether the service still shows the key as it did when we last set or adopted it. */
export function showsOurKey(
  seen: Registration,
  { webhookVerificationKey: key, applied }: WebhookState,
): boolean {
  if (applied.echoKey === undefined) return seen.webhookVerificationKey === key;
  return digest(key, seen.webhookVerificationKey) === applied.echoKey;
}

/** Whether this API key is the one that last reached the workspace. */
export function isLastApiKey(
  apiKey: string,
  { webhookVerificationKey: key, applied }: WebhookState,
): boolean {
  return digest(key, apiKey) === applied.apiKey;
}

/** What to remember of a registration that is now as we want it. */
export function rememberApplied(
  seen: Registration,
  wanted: { webhookUrl: string; webhookVerificationKey: string; apiKey: string; claimId: string },
): Applied {
  const { webhookUrl: url, webhookVerificationKey: key } = wanted;
  return {
    url,
    botUrl: seen.botUrl,
    ...(seen.webhookUrl === url ? {} : { echoUrl: seen.webhookUrl }),
    ...(seen.webhookVerificationKey === key ? {} : { echoKey: digest(key, seen.webhookVerificationKey) }),
    apiKey: digest(key, wanted.apiKey),
    claimId: wanted.claimId,
  };
}

/** Keyed with the verification key, which is secret in the state: nobody can try out values against the digest. */
function digest(verificationKey: string, value: string): string {
  return createHmac("sha256", verificationKey).update(value).digest("base64url").slice(0, 12);
}

type AppliedUrls = Pick<Applied, "url" | "botUrl">;

/** A state as it is stored: what `applied` repeats of the outputs is left out. */
export interface StoredState extends Omit<WebhookState, "applied"> {
  applied: Omit<Applied, keyof AppliedUrls | "claimId"> &
    Partial<AppliedUrls> & {
      /** The claimId: a state on disk keeps the name of version 0.1. */
      since: string;
    };
  /** In states of version 0.1. */
  keyDrifted?: boolean;
}

/** Leaves out what stands in the state twice: the engine writes the state of all resources at every step. */
export function compactState(state: WebhookState): StoredState {
  const { url, botUrl, claimId, ...applied } = state.applied;
  return {
    ...state,
    applied: {
      ...applied,
      since: claimId,
      ...(url === state.webhookUrl ? {} : { url }),
      ...(botUrl === state.botUrl ? {} : { botUrl }),
    },
  };
}

/** The reverse, of every version. Throws `invalid_config` for what is no state of ours: a read by id gives the inputs alone. */
export function expandState({ keyDrifted = false, ...stored }: StoredState): WebhookState {
  if (stored.applied === undefined) throw notInState();
  const { webhookUrl: url, botUrl } = stored;
  const { since, ...applied } = stored.applied;
  return {
    ...stored,
    ...(keyDrifted ? { drift: [DRIFTED_KEY] } : {}),
    applied: { url, botUrl, claimId: since, ...applied },
  };
}

/** How a drift shows a key. */
export const DRIFTED_KEY: DriftedProperty = {
  property: "webhookVerificationKey",
  expected: "[secret]",
  actual: "[secret]",
};

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
  { apiKey, claimId }: { apiKey: string; claimId: string },
): WebhookState {
  return {
    ...inputs,
    status: seen.status,
    botUrl: seen.botUrl,
    stateVersion: 1,
    applied: rememberApplied(seen, { ...inputs, apiKey, claimId }),
  };
}

/** Tells the engine to keep a state that is only partly done; the next `up` calls update. It prints only `reasons`. */
export class UnfinishedError extends Error {
  readonly id: string;
  readonly properties: StoredState;
  readonly reasons: string[];

  constructor(id: string, properties: WebhookState, failure: ApiChatError) {
    const reason = describeFailure(properties.name, failure);
    super(reason);
    this.id = id;
    this.properties = compactState(properties);
    this.reasons = [reason];
  }
}
