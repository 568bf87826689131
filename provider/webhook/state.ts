import { randomBytes } from "node:crypto";
import type { Registration } from "../client/internal.js";
import { invalidFields, type ApiChatError } from "../errors/index.js";
import { describeFailure } from "../pulumi/provider-process.js";
import { requireStateVersion } from "../pulumi/state-version.js";
import { type Applied, type AppliedBy, type WantedWebhook, toApplied } from "../registration/index.js";

/** The inputs contain this in place of the key after a refresh has found a different key. */
export const KEY_DRIFTED = "(the service holds another key)";

/** The inputs contain this in place of the key after an import. It looks like a masked key, so it is never set. */
export const IMPORTED_KEY = "*** write the registered key here ***";

/** The inputs after check: the program's inputs with defaults, and the `status` that every resource should reach. */
export interface WebhookInputs extends WantedWebhook {
  /** Only if the program sets it: a key from the environment or the configuration is never stored in the state. */
  apiKey?: string;
  status: string;
  __provider?: string;
}

/** A difference between the service and the last applied values. It contains no secrets. */
export interface DriftedProperty {
  /** The output that differs. */
  property: "webhookUrl" | "webhookVerificationKey" | "status" | "botUrl";
  /** The last applied value. For a key, both values are "[secret]". Query values are hidden. */
  expected: string;
  /** The service's value, in the same format as `expected`. */
  actual: string;
}

export const DRIFTED_KEY: DriftedProperty = {
  property: "webhookVerificationKey",
  expected: "[secret]",
  actual: "[secret]",
};

/** Raise this when earlier releases cannot read a new state, and make `requireWebhookState` read older ones too. */
const STATE_VERSION: number = 1;

export interface WebhookState extends WebhookInputs {
  botUrl: string;
  stateVersion: typeof STATE_VERSION;
  applied: Applied;
  /** The properties that differed at the last refresh; absent if none did. */
  drift?: DriftedProperty[];
}

export const toWebhookState = (inputs: WebhookInputs, seen: Registration, by: AppliedBy): WebhookState => ({
  ...inputs,
  status: seen.status,
  botUrl: seen.botUrl,
  stateVersion: STATE_VERSION,
  applied: toApplied(inputs, seen, by),
});

/** Adds a URL that a failed call may have registered, so that it counts as ours. A replacement has a new `claimId`. */
export function withAttempt(
  state: WebhookState,
  { name, webhookUrl }: WebhookInputs,
  claimId: string,
): WebhookState {
  const attempted = [...new Set([...(state.applied.attempted ?? []), webhookUrl])];
  return { ...state, name, applied: { ...state.applied, attempted, claimId } };
}

export const createClaimId = (): string => randomBytes(6).toString("base64url");

/** Throws `invalid_config` for a state of another version, and for a read by ID, which passes no state. */
export function requireWebhookState(stored: WebhookState): WebhookState {
  requireStateVersion(
    stored,
    STATE_VERSION,
    "a webhook cannot be read by its ID alone; use getApiChatWebhook() to read a registration, " +
      "or declare a new ApiChatWebhook with the same URL, which adopts the registration",
  );
  return stored;
}

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

/** Throws if the key is only a placeholder: with `ignoreChanges`, one may stay in the inputs. */
export function requireKey({ webhookVerificationKey: key }: WebhookInputs): void {
  if (key !== IMPORTED_KEY && key !== KEY_DRIFTED) return;
  const text =
    key === IMPORTED_KEY
      ? "is not known after an import; write the key that is registered, or a new one"
      : "is not known, because the service has a different key; remove it from ignoreChanges, " +
        "so that the program's key is set";
  throw invalidFields([{ field: "webhookVerificationKey", text }], { operation: "set-webhook" });
}

/** Makes the engine keep an unfinished operation's state for a later update. The engine prints only `reasons`. */
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
