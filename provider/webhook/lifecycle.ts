import type { Registration, RegistrationClient } from "../client/registration-client.js";
import { ApiChatError } from "../errors/index.js";
import { UNKNOWN } from "../lib/checks.js";
import { describeFailure, printLine, printWarning } from "../lib/provider-process.js";
import { botCodeOf, hideQuery, isSameBot, isSameUrl, printUrl } from "../lib/url.js";
import {
  VERIFIED,
  compactState,
  createClaimId,
  expectedUrl,
  isLastApiKey,
  isOurs,
  showsOurKey,
  toState,
  withTimeLimit,
  type OperationLimits,
  type StoredState,
  type WebhookInputs,
  type WebhookState,
} from "./contract.js";
import {
  createClient,
  observe,
  observeBeforeSet,
  refuseForeign,
  removeOther,
  requireSameWorkspace,
  type Observed,
} from "./observe.js";
import { preflight } from "./preflight.js";
import {
  UnconfirmedError,
  mayHaveTakenEffect,
  register,
  registerIfNeeded,
  rememberBefore,
} from "./register.js";
import { apiKeyFor, claimBot, declaredFor, handOver, isHandedOver, managerOf, nameOf } from "./run.js";

/**
 * Registers the webhook, or adopts a registration of the same URL: of an earlier run whose answer was lost, or of an import.
 * Another URL is a conflict unless `onExisting` is "replace".
 */
export async function createWebhook(
  inputs: WebhookInputs,
  limits: OperationLimits = {},
): Promise<WebhookState> {
  const { name } = inputs;
  const { signal } = limits;
  const apiKey = apiKeyFor(inputs.apiKey);
  const client = createClient(inputs, apiKey, limits);
  const claimId = createClaimId();
  const seen = await observeBeforeSet(client, inputs);
  if (seen && seen.botUrl !== "") claimBot(seen.botUrl, { name, claimId });
  if (seen && !isHandedOver(seen)) refuseForeign(seen, inputs);
  try {
    const { registration, wasSet } = await registerIfNeeded({
      inputs: withTimeLimit(inputs, "readySeconds", limits),
      client,
      seen,
      signal,
    });
    claimBot(registration.botUrl, { name, claimId });
    printWhatWasThere(seen, inputs, wasSet);
    return toState(inputs, registration, { apiKey, claimId });
  } catch (error) {
    const left = error instanceof UnconfirmedError && (error.seen ?? mayBeRegistered(seen, inputs));
    if (!left) throw error;
    throw new UnfinishedError(left.botUrl, toState(inputs, left, { apiKey, claimId }), error);
  }
}

/** Of a workspace that had a webhook the bot is known, so the state can keep what may be registered there by now. */
const mayBeRegistered = (seen: Registration | undefined, inputs: WebhookInputs): Registration | undefined =>
  seen && seen.botUrl !== "" ? { ...inputs, botUrl: seen.botUrl, status: "" } : undefined;

/** The engine prints "created" for what was adopted or replaced too. */
function printWhatWasThere(
  seen: Registration | undefined,
  { name, webhookUrl }: WebhookInputs,
  wasSet: boolean,
): void {
  if (!seen || isHandedOver(seen)) return;
  if (!isSameUrl(seen.webhookUrl, webhookUrl)) return printReplaced(name, seen);
  const what = wasSet ? "its key or status differed, so it was set again" : "nothing was written";
  printLine(name, `adopted ${printUrl(webhookUrl)}, which was registered already; ${what}`);
}

/** Names the replaced webhook, and that `onExisting: "replace"` has done its work: left in, it would replace the next one too. */
const printReplaced = (name: string, seen: Registration): void =>
  printLine(name, `replaced ${printUrl(seen.webhookUrl)}; onExisting: "replace" may be removed now`);

/**
 * Brings the registration to what the program says, and calls set-webhook only if URL, key or status differ from what
 * is registered. Touches it only while it is ours, or drifted in a way that a refresh has shown.
 */
export async function updateWebhook(
  id: string,
  state: WebhookState,
  inputs: WebhookInputs,
  limits: OperationLimits = {},
): Promise<WebhookState> {
  const { claimId } = state.applied;
  const { signal } = limits;
  const apiKey = apiKeyFor(inputs.apiKey);
  const client = createClient(inputs, apiKey, limits);
  const toOuts = (registered: Registration): WebhookState => toState(inputs, registered, { apiKey, claimId });
  const seen = await client.getWebhook();
  requireSameWorkspace({ seen, apiKey }, state, { baseUrl: inputs.baseUrl, operation: "set-webhook" });
  claimBot(state.applied.botUrl, { name: inputs.name, claimId });
  const isTakenOver = seen !== undefined && isForeign(seen, state, inputs);
  if (isTakenOver && inputs.onExisting !== "replace") throw takenOver(seen, state, inputs);
  if (seen && isStillAsWanted(seen, state, inputs)) return toOuts(seen);
  try {
    const registration = await register({
      inputs: withTimeLimit(inputs, "readySeconds", limits),
      client,
      before: rememberBefore(seen, state),
      signal,
    });
    if (isTakenOver) printReplaced(inputs.name, seen);
    return toOuts(registration);
  } catch (error) {
    if (!(error instanceof UnconfirmedError)) throw error;
    throw new UnfinishedError(id, error.seen ? toOuts(error.seen) : withAttempt(state, inputs), error);
  }
}

/** The state as it was, and the URL that may be registered by now: it is ours too. */
function withAttempt(state: WebhookState, { name, webhookUrl }: WebhookInputs): WebhookState {
  const attempted = [...new Set([...(state.applied.attempted ?? []), webhookUrl])];
  return { ...state, name, applied: { ...state.applied, attempted } };
}

/**
 * Another URL with another key is somebody else's registration. Another URL with our key is ours, changed by hand: it is
 * repaired once a refresh has shown it, because then the preview named it.
 */
function isForeign(seen: Registration, state: WebhookState, inputs: WebhookInputs): boolean {
  const isWanted = isSameUrl(seen.webhookUrl, inputs.webhookUrl);
  const isShownDrift = hideQuery(seen.webhookUrl) === state.webhookUrl && showsOurKey(seen, state);
  return !isOurs(seen, state.applied) && !isWanted && !isShownDrift;
}

function takenOver(seen: Registration, state: WebhookState, inputs: WebhookInputs): ApiChatError {
  const hasOurKey = showsOurKey(seen, state);
  const at = printUrl(inputs.baseUrl);
  const registered = printUrl(seen.webhookUrl);
  const whose = hasOurKey ? "" : ". Its key is not ours either, so it is somebody else's";
  return new ApiChatError(
    "conflict",
    `${at} now has the webhook ${registered}, not ${printUrl(state.applied.url)}, and nothing was written${whose}`,
    {
      operation: "set-webhook",
      facts: { at, registered },
      hints: [hasOurKey ? { id: "refresh_first" } : removeOther(inputs.baseUrl, seen.webhookUrl)],
    },
  );
}

/** Compared with how the service showed it when we last set it: it may write URLs in its own way and mask keys. */
function isStillAsWanted(seen: Registration, state: WebhookState, inputs: WebhookInputs): boolean {
  if (seen.status !== VERIFIED) return false;
  const { applied, webhookVerificationKey: ourKey } = state;
  const isWantedUrl =
    seen.webhookUrl === inputs.webhookUrl ||
    (seen.webhookUrl === expectedUrl(applied) && inputs.webhookUrl === applied.url);
  const isWantedKey =
    seen.webhookVerificationKey === inputs.webhookVerificationKey ||
    (inputs.webhookVerificationKey === ourKey && showsOurKey(seen, state));
  return isWantedUrl && isWantedKey;
}

/**
 * Removes the registration while it is ours. If nothing is registered, it succeeds; somebody else's stays, with a warning; one
 * that the program still manages under another name stays too. Each repetition reads it again first. Where the program replaces
 * the webhook, the handshake of the new one comes first: a live webhook is not removed for one that cannot be registered.
 */
export async function deleteWebhook(state: WebhookState, limits: OperationLimits = {}): Promise<void> {
  const manager = managerOf(state);
  if (manager) {
    if (manager.toCreate) await tryReplacement(manager.toCreate, limits);
    handOver(state);
    printLine(nameOf(state), `the webhook stays: it is still managed by this program, as "${manager.name}"`);
    return;
  }
  const replacement = declaredFor(state)?.inputs;
  const observed = await observe(state, limits);
  if (!isOursToDelete(observed, state, replacement)) return;
  if (replacement) await tryReplacement(replacement, limits);
  await removeRegistration(observed.client, state.baseUrl, (seen) =>
    isOursToDelete({ ...observed, seen }, state, replacement),
  );
}

/** Performs its handshake, unless it depends on something that is replaced too and is not known yet. */
async function tryReplacement(inputs: WebhookInputs, { signal }: OperationLimits): Promise<void> {
  const isKnown = inputs.webhookUrl !== UNKNOWN && inputs.webhookVerificationKey !== UNKNOWN;
  if (isKnown) await preflight(inputs, { signal });
}

function isOursToDelete(
  observed: Observed,
  state: WebhookState,
  replacement: WebhookInputs | undefined,
): boolean {
  const { seen } = observed;
  requireOurWorkspace(observed, state, replacement);
  if (!seen) return false;
  if (isOurs(seen, state.applied)) return true;
  printWarning(
    nameOf(state),
    `${printUrl(state.baseUrl)} now has the webhook ${printUrl(seen.webhookUrl)} of the bot ${botCodeOf(seen.botUrl)}, which is not ours; it stays`,
  );
  return false;
}

/**
 * Another API key may reach another workspace, and ours would be orphaned: only the same bot shows that it does not. A
 * replacement goes on where nothing is registered: the program says where the webhook is now.
 */
function requireOurWorkspace(
  { seen, apiKey }: Observed,
  state: WebhookState,
  replacement: WebhookInputs | undefined,
): void {
  if (isLastApiKey(apiKey, state) || (seen && isSameBot(seen.botUrl, state.applied.botUrl))) return;
  const at = printUrl(state.baseUrl);
  if (!seen && replacement) {
    return printWarning(
      nameOf(state),
      `${at} shows nothing registered, for another API key than the last used; if that key is for another workspace, the earlier webhook is still registered in its own`,
    );
  }
  const what = seen ? `the bot ${botCodeOf(seen.botUrl)}` : "nothing registered";
  throw new ApiChatError(
    "conflict",
    `${at} shows ${what}, but for another API key than the last used, so it may be another workspace, and nothing was deleted`,
    { operation: "delete-webhook", facts: { at }, hints: [{ id: "set_api_key_or_forget" }] },
  );
}

/**
 * Calls delete-webhook; before each repetition it reads, and asks whether what is registered may go. Throws `protocol` if the
 * service shows that something is left.
 */
export async function removeRegistration(
  client: RegistrationClient,
  baseUrl: string,
  mayGo: (seen: Registration | undefined) => boolean,
): Promise<void> {
  const left = await client
    .deleteWebhook({ beforeRepeat: async () => mayGo(await client.getWebhook()) })
    .catch((error: unknown) => observeEffect(client, error));
  if (left === undefined) return;
  throw new ApiChatError(
    "protocol",
    `${printUrl(baseUrl)} still shows ${printUrl(left.webhookUrl)} after delete-webhook`,
    { operation: "delete-webhook", hints: [{ id: "delete_again" }] },
  );
}

/** After a delete-webhook whose answer is lost: if nothing is registered now, it took effect. */
async function observeEffect(client: RegistrationClient, lost: unknown): Promise<undefined> {
  if (!(lost instanceof ApiChatError) || !mayHaveTakenEffect(lost)) throw lost;
  const now = await client.getWebhook().catch((error: unknown) => {
    throw error instanceof ApiChatError ? lost : error;
  });
  if (now !== undefined) throw lost;
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
