import { createHmac, randomBytes } from "node:crypto";
import type { Registration } from "../client/registration-client.js";
import { ApiChatError } from "../errors/index.js";
import type { DynamicResource } from "../lib/dynamic-resource.js";
import type { Path } from "../lib/secret-values.js";
import { isSameBot, isSameUrl, mayHoldQuery } from "../lib/url.js";

/** What create does when another URL is registered for the workspace. */
export type OnExisting = "fail" | "replace";

/** Whether the provider performs the handshake itself before set-webhook. */
export type Preflight = "require" | "warn" | "off";

interface Timeouts {
  /** The time limit of one call to the service with its retries, in seconds. Default 30. */
  requestSeconds?: number;
  /** How long the webhook URL may take until it answers the handshake, and the service until it says `verified`. Default 60. */
  readySeconds?: number;
}

export const DEFAULT_ON_EXISTING: OnExisting = "fail";
export const DEFAULT_PREFLIGHT: Preflight = "require";
const DEFAULT_READY_SECONDS = 60;

/** Fallback sources of each setting, and the error text if none of them provides it. */
export const SETTINGS = {
  baseUrl: {
    config: "apichat:baseUrl",
    environment: "APICHAT_BASE_URL",
    missing:
      "is missing; give the address of the workspace's registration interface as the argument baseUrl, with: " +
      "pulumi config set apichat:baseUrl, or as the environment variable APICHAT_BASE_URL",
  },
  apiKey: {
    config: "apichat:apiKey",
    environment: "APICHAT_API_KEY",
    missing:
      "is missing; give the key that the platform's support issued as the argument apiKey, as the environment " +
      "variable APICHAT_API_KEY, or with: pulumi config set --secret apichat:apiKey",
  },
} as const;

/** Reads a value from the stack's configuration; secrets are decrypted. An empty value counts as missing. */
type ReadConfig = (key: string) => string | undefined;

/** The default base URL: from the stack's configuration, then from the environment. */
export const findBaseUrl = (readConfig: ReadConfig): string | undefined =>
  readConfig(SETTINGS.baseUrl.config) || process.env[SETTINGS.baseUrl.environment] || undefined;

/** The default API key: from the environment, then from the stack's configuration. */
export const findApiKey = (readConfig: ReadConfig): string | undefined =>
  process.env[SETTINGS.apiKey.environment] || readConfig(SETTINGS.apiKey.config) || undefined;

/** The error for a setting that no source provides. `what` names the caller. */
export const settingMissing = (name: keyof typeof SETTINGS, what = ""): ApiChatError =>
  new ApiChatError("invalid_config", what, {
    operation: "check",
    problems: [{ field: name, text: SETTINGS[name].missing }],
  });

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

/** Secrets, and URLs that may contain one: the engine prints the value of a named property that check rejects. */
export const SECRET_INPUTS = ["baseUrl", "webhookUrl", "webhookVerificationKey", "apiKey"];

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
  timeouts?: Timeouts;
  status: string;
  /** Set by the dynamic provider: the URLs that the program marks as secret. The provider receives plain values. */
  secretUrls?: ("baseUrl" | "webhookUrl")[];
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
  /** Digest of the API key that reached this workspace. */
  apiKey: string;
  /** Distinguishes this state from others of the same workspace: see run.ts. */
  claimId: string;
}

/** A difference between the service and what was last applied. It contains no secrets. */
export interface DriftedProperty {
  property: "webhookUrl" | "webhookVerificationKey" | "status" | "botUrl";
  /** Values of a key are never shown: both are "[secret]". Values of a query are hidden. */
  expected: string;
  actual: string;
}

/** Raised when a state is written that earlier versions of the package cannot read. */
const STATE_VERSION: number = 1;

/** The outputs in the state. */
export interface WebhookState extends WebhookInputs {
  botUrl: string;
  stateVersion: typeof STATE_VERSION;
  applied: Applied;
  /** What the last refresh saw that differs; absent if nothing does. */
  drift?: DriftedProperty[];
}

/** Whether the last refresh found a different key; ours is kept in webhookVerificationKey. */
export const isKeyDrifted = ({ drift = [] }: Pick<WebhookState, "drift">): boolean =>
  drift.some(({ property }) => property === "webhookVerificationKey");

/** The inputs that a program sets, in the order of the documentation: a change of one is an update. */
export const COMPARED_INPUT_NAMES = [
  "name",
  "baseUrl",
  "webhookUrl",
  "webhookVerificationKey",
  "apiKey",
  "onExisting",
  "preflight",
  "timeouts",
] as const satisfies readonly (keyof WebhookInputs)[];

/** The names of all inputs. */
const INPUT_NAMES = [
  ...COMPARED_INPUT_NAMES,
  "status",
  "secretUrls",
  "__provider",
] as const satisfies readonly (keyof WebhookInputs)[];

/**
 * Where secrets are in inputs or outputs, given the URLs that the program marks as secret. A query may hold a token, and the
 * record of what was set repeats the URL.
 */
export const secretPathsOf = (
  { baseUrl, webhookUrl }: Record<string, unknown>,
  marked: readonly string[],
): Path[] => [
  ["webhookVerificationKey"],
  ["apiKey"],
  ["applied"],
  ...(mayHoldQuery(webhookUrl) || marked.includes("webhookUrl") ? [["webhookUrl"]] : []),
  ...(mayHoldQuery(baseUrl) || marked.includes("baseUrl") ? [["baseUrl"]] : []),
  ...(marked.includes("webhookUrl")
    ? [
        ["drift", "expected"],
        ["drift", "actual"],
      ]
    : []),
];

/** `ApiChatWebhook` as a resource of the dynamic provider. */
export const DYNAMIC_WEBHOOK: DynamicResource = {
  args: COMPARED_INPUT_NAMES.filter((name) => name !== "name"),
  added: INPUT_NAMES,
  secretsIn: (values) => secretPathsOf(values, (values["secretUrls"] ?? []) as string[]),
};

/** The inputs in a state. */
export function inputsOf(state: WebhookInputs): WebhookInputs {
  const entries = INPUT_NAMES.map((name) => [name, state[name]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as unknown as WebhookInputs;
}

/** What the engine says about an operation, in addition to its inputs. */
export interface OperationContext {
  /** The URN of the resource. The dynamic provider does not receive it. */
  urn?: string;
  /** Ends the operation at once. Its reason is the ApiChatError to report. */
  signal?: AbortSignal | undefined;
  /** How long the engine waits for it (`customTimeouts`), in seconds. */
  limitSeconds?: number | undefined;
}

/**
 * Applies the engine's time limit (`customTimeouts`) to the timeout named by `limit`, unless the program sets that
 * timeout itself. It applies to this operation only, so it is never stored in the state.
 */
export function withTimeLimit<T extends Pick<WebhookInputs, "name" | "timeouts">>(
  inputs: T,
  limit: keyof Timeouts,
  { limitSeconds }: OperationContext,
): T {
  if (limitSeconds === undefined) return inputs;
  return { ...inputs, timeouts: { [limit]: limitSeconds, ...inputs.timeouts } };
}

export const readySecondsOf = (inputs: WebhookInputs): number =>
  inputs.timeouts?.readySeconds ?? DEFAULT_READY_SECONDS;

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

/**
 * Keyed with the verification key, which is secret in the state, so that values cannot be tried out against the digest.
 */
function digest(verificationKey: string, value: string): string {
  return createHmac("sha256", verificationKey).update(value).digest("base64url").slice(0, 12);
}

/** A state as stored: without the values of `applied` that repeat the outputs. */
export interface StoredState extends Omit<WebhookState, "applied"> {
  applied: Omit<Applied, "url" | "botUrl"> & { url?: string; botUrl?: string };
}

/** Omits values that appear in the state twice: the engine writes the state of all resources at every step. */
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

/**
 * Reverses {@link compactState}. Throws `invalid_config` for a state that this version cannot read, and for a read by
 * ID, which has only the inputs.
 */
export function expandState(stored: StoredState): WebhookState {
  const { stateVersion, webhookUrl: url, botUrl, applied } = stored;
  if (stateVersion === STATE_VERSION) return { ...stored, applied: { url, botUrl, ...applied } };
  const summary =
    stateVersion === undefined
      ? "a webhook cannot be read by its id alone; use getApiChatWebhook() to read a registration, or declare it as a new ApiChatWebhook: the same URL is adopted"
      : `the state has version ${JSON.stringify(stateVersion)}, and this pulumi-apichat reads version ${STATE_VERSION}: install the one that wrote it`;
  throw new ApiChatError("invalid_config", summary, { operation: "get-webhook" });
}

/** Distinguishes the state of a create or an import from all others. */
export const createClaimId = (): string => randomBytes(6).toString("base64url");

/** How a drift shows a key. */
export const DRIFTED_KEY: DriftedProperty = {
  property: "webhookVerificationKey",
  expected: "[secret]",
  actual: "[secret]",
};

/** The outputs after a registration was set or adopted: the program's inputs, and what is registered. */
export function toState(
  inputs: WebhookInputs,
  seen: Registration,
  { apiKey, claimId }: { apiKey: string; claimId: string },
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
      apiKey: digest(key, apiKey),
      claimId,
    },
  };
}
