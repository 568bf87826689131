import { randomBytes } from "node:crypto";
import type { Registration } from "../client/internal.js";
import { ApiChatError } from "../errors/index.js";
import { describeFailure } from "../pulumi/provider-process.js";
import { requireStateVersion } from "../pulumi/state-version.js";
import { type Applied, type AppliedBy, type WantedWebhook, toApplied } from "../registration/index.js";

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
export interface WebhookInputs extends WantedWebhook {
  /** Only if the program sets it: a key from the environment or the configuration is never stored in the state. */
  apiKey?: string;
  status: string;
  __provider?: string;
}

/** A difference between the service and what was last applied. It contains no secrets. */
export interface DriftedProperty {
  /** The output that differs. */
  property: "webhookUrl" | "webhookVerificationKey" | "status" | "botUrl";
  /** Values of a key are never shown: both are "[secret]". Values of a query are hidden. */
  expected: string;
  /** The service's value, in the same format as `expected`. */
  actual: string;
}

/** A drifted key, without its values. */
export const DRIFTED_KEY: DriftedProperty = {
  property: "webhookVerificationKey",
  expected: "[secret]",
  actual: "[secret]",
};

/**
 * Raised when a state is written that earlier releases cannot read: see pulumi/state-version.ts.
 * `requireWebhookState` then reads the previous ones too.
 */
const STATE_VERSION: number = 1;

/** The outputs in the state. */
export interface WebhookState extends WebhookInputs {
  botUrl: string;
  stateVersion: typeof STATE_VERSION;
  applied: Applied;
  /** The properties that differed at the last refresh; absent if none did. */
  drift?: DriftedProperty[];
}

/** The outputs after a registration was set or adopted: the program's inputs, and what is registered. */
export const toWebhookState = (inputs: WebhookInputs, seen: Registration, by: AppliedBy): WebhookState => ({
  ...inputs,
  status: seen.status,
  botUrl: seen.botUrl,
  stateVersion: STATE_VERSION,
  applied: toApplied(inputs, seen, by),
});

/**
 * The previous state, plus the URL that may be registered now, which counts as ours too. A create that
 * replaces a resource has its own claim.
 */
export function withAttempt(
  state: WebhookState,
  { name, webhookUrl }: WebhookInputs,
  claimId: string,
): WebhookState {
  const attempted = [...new Set([...(state.applied.attempted ?? []), webhookUrl])];
  return { ...state, name, applied: { ...state.applied, attempted, claimId } };
}

/** Distinguishes the state of a create or an import from all others. */
export const createClaimId = (): string => randomBytes(6).toString("base64url");

/**
 * Returns a stored state. Throws `invalid_config` for a state that this version cannot read, and for a read by ID,
 * which has only the inputs.
 */
export function requireWebhookState(stored: WebhookState): WebhookState {
  requireStateVersion(
    stored,
    STATE_VERSION,
    "a webhook cannot be read by its id alone; use getApiChatWebhook() to read a registration, " +
      "or declare it as a new ApiChatWebhook: the same URL is adopted",
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

/**
 * Throws if the key is only a placeholder: after an import, or after a refresh that found a different key if
 * ignoreChanges keeps the placeholder.
 */
export function requireKey({ webhookVerificationKey: key }: WebhookInputs): void {
  if (key !== IMPORTED_KEY && key !== KEY_DRIFTED) return;
  const text =
    key === IMPORTED_KEY
      ? "is not known after an import; write the key that is registered, or a new one"
      : "is not known, because the service has a different key; remove it from ignoreChanges, " +
        "so that the program's key is set";
  throw new ApiChatError("invalid_config", "", {
    operation: "set-webhook",
    problems: [{ field: "webhookVerificationKey", text }],
  });
}

/**
 * Tells the engine to keep the state of an unfinished operation; the next `up` calls update. The engine prints only
 * `reasons`.
 */
export class UnfinishedError extends Error {
  readonly id: string;
  readonly properties: WebhookState;
  readonly reasons: string[];

  constructor(properties: WebhookState, failure: ApiChatError) {
    const reason = describeFailure(properties.name, failure);
    super(reason);
    this.id = properties.botUrl;
    this.properties = properties;
    this.reasons = [reason];
  }
}
