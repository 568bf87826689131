import { createHmac, randomBytes } from "node:crypto";
import type { Registration } from "../client/registration-client.js";
import { requireStateVersion } from "../lib/state-version.js";
import { isSameBot, isSameUrl } from "../lib/url.js";

/** What create does when another URL is registered for the workspace. */
export type OnExisting = "fail" | "replace";

/** Whether the provider performs the handshake itself before set-webhook. */
export type Preflight = "require" | "warn" | "off";

/** The only `webhook_status` of the specification that means success (section 3). */
export const VERIFIED = "verified";

/**
 * Placeholder for the key in the inputs after a refresh found a different one. The key itself is never copied from a
 * response.
 */
export const KEY_DRIFTED = "(the service holds another key)";

/**
 * Placeholder for the key after an import: a key is never copied from a response. It looks like a mask, so it is never
 * set.
 */
export const IMPORTED_KEY = "*** write the registered key here ***";

/** The inputs after check: the program's inputs with defaults, and the `status` that every resource should reach. */
export interface WebhookInputs {
  /** The resource's name, for messages. */
  name: string;
  baseUrl: string;
  webhookUrl: string;
  webhookVerificationKey: string;
  /** Only if the program sets it: a key from the environment or the configuration is never stored in the state. */
  apiKey?: string;
  onExisting?: OnExisting;
  preflight?: Preflight;
  timeouts?: { requestSeconds?: number; readySeconds?: number };
  status: string;
  __provider?: string;
}

/**
 * What the last set-webhook or adoption saw. `read` never changes it; `update` and `delete` check it before they touch
 * anything.
 */
export interface Applied {
  /** The webhook URL as it was sent. */
  url: string;
  /** The bot's address at that time; its last segment is the bot code. */
  botUrl: string;
  /** The URL as the service returns it, if that differs from `url`. */
  echoUrl?: string;
  /** Digest of the key as the service returns it, if it masks the key. */
  echoKey?: string;
  /** URLs of unconfirmed set-webhook calls that may have taken effect. They count as ours too. */
  attempted?: string[];
  /** It was registered already, and this resource has written nothing since. */
  adopted?: boolean | undefined;
  /** Digest of the API key that reached this workspace. */
  apiKey: string;
  /** Distinguishes this state from others of the same workspace: see run.ts. */
  claimId: string;
}

/** A difference between the service and what was last applied. It contains no secrets. */
export interface DriftedProperty {
  /** The output that differs. */
  property: "webhookUrl" | "webhookVerificationKey" | "status" | "botUrl";
  /** Values of a key are never shown: both are "[secret]". Values of a query are hidden. */
  expected: string;
  /** What the service shows, written as `expected` is. */
  actual: string;
}

/** A drifted key, without its values. */
export const DRIFTED_KEY: DriftedProperty = {
  property: "webhookVerificationKey",
  expected: "[secret]",
  actual: "[secret]",
};

/**
 * Raised when a state is written that earlier releases cannot read: see lib/state-version.ts. `requireState` then reads
 * the former ones too.
 */
const STATE_VERSION: number = 1;

/** The outputs in the state. */
export interface WebhookState extends WebhookInputs {
  botUrl: string;
  stateVersion: typeof STATE_VERSION;
  applied: Applied;
  /** What the last refresh saw that differs; absent if nothing does. */
  drift?: DriftedProperty[];
}

/** The outputs after a registration was set or adopted: the program's inputs, and what is registered. */
export function toState(
  inputs: WebhookInputs,
  seen: Registration,
  { apiKey, claimId, adopted }: { apiKey: string; claimId: string; adopted?: boolean | undefined },
): WebhookState {
  const { webhookUrl: url, webhookVerificationKey: key } = inputs;
  const { botUrl, status, webhookUrl: shownUrl, webhookVerificationKey: shownKey } = seen;
  return {
    ...inputs,
    status,
    botUrl,
    stateVersion: STATE_VERSION,
    applied: {
      url,
      botUrl,
      ...(shownUrl === url ? {} : { echoUrl: shownUrl }),
      ...(shownKey === key ? {} : { echoKey: digest(key, shownKey) }),
      ...(adopted ? { adopted } : {}),
      apiKey: digest(key, apiKey),
      claimId,
    },
  };
}

/** Distinguishes the state of a create or an import from all others. */
export const createClaimId = (): string => randomBytes(6).toString("base64url");

/**
 * Returns a stored state. Throws `invalid_config` for a state that this version cannot read, and for a read by ID,
 * which has only the inputs.
 */
export function requireState(stored: WebhookState): WebhookState {
  requireStateVersion(
    stored,
    STATE_VERSION,
    "a webhook cannot be read by its id alone; use getApiChatWebhook() to read a registration, or declare it as a new ApiChatWebhook: the same URL is adopted",
  );
  return stored;
}

/** The inputs in a state. */
export const inputsOf = ({
  botUrl: _botUrl,
  stateVersion: _version,
  applied: _applied,
  drift: _drift,
  ...inputs
}: WebhookState): WebhookInputs => inputs;

/** Whether the last refresh found a different key; ours is kept in webhookVerificationKey. */
export const isKeyDrifted = ({ drift = [] }: Pick<WebhookState, "drift">): boolean =>
  drift.some(({ property }) => property === "webhookVerificationKey");

/** The URL that get-webhook shows while nothing has changed since we set or adopted it. */
export const expectedUrl = (applied: Applied): string => applied.echoUrl ?? applied.url;

/** Whether a registration is the one that we last set, tried to set, or adopted: by its URL and its bot. */
export const isOurs = (seen: Registration, applied: Applied): boolean =>
  isOurUrl(seen.webhookUrl, applied) && isSameBot(seen.botUrl, applied.botUrl);

/** Whether a URL is the one that we last set or adopted, or one that we tried to set since. */
const isOurUrl = (url: string, applied: Applied): boolean =>
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
export const isLastApiKey = (apiKey: string, state: WebhookState): boolean =>
  digest(state.webhookVerificationKey, apiKey) === state.applied.apiKey;

/**
 * Keyed with the verification key, which is secret in the state, so that values cannot be tried out against the digest.
 */
const digest = (verificationKey: string, value: string): string =>
  createHmac("sha256", verificationKey).update(value).digest("base64url").slice(0, 12);
