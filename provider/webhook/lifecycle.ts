import type { Registration, RegistrationClient } from "../client/registration-client.js";
import { ApiChatError } from "../errors/index.js";
import { UNKNOWN } from "../lib/checks.js";
import { describeFailure, printLine, printWarning } from "../lib/provider-process.js";
import { botCodeOf, hideQuery, isSameBot, isSameUrl, formatUrl } from "../lib/url.js";
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
  type OperationContext,
  type StoredState,
  type WebhookInputs,
  type WebhookState,
} from "./contract.js";
import {
  createClient,
  observe,
  getWebhookBeforeSet,
  getWebhookIfAny,
  refuseForeign,
  removeOther,
  requireSameWorkspace,
  type Observed,
} from "./observe.js";
import { preflight } from "./preflight.js";
import { UnconfirmedError, register, registerIfNeeded, rememberBefore } from "./register.js";
import {
  apiKeyCandidates,
  requireApiKey,
  claimBot,
  declaredAs,
  declaredAt,
  handOver,
  inTurn,
  currentNameOf,
  otherHolderOf,
  releaseBot,
  replacedBy,
  resourceOf,
  workspaceOf,
  type Declared,
} from "./run.js";

/**
 * Registers the webhook, or adopts an existing registration of the same URL: left by a run that lost the response, or
 * made outside this program. A different URL is a conflict unless `onExisting` is "replace".
 */
export function createWebhook(inputs: WebhookInputs, context: OperationContext = {}): Promise<WebhookState> {
  const apiKey = requireApiKey(inputs.apiKey);
  const workspace = workspaceOf(inputs.baseUrl, apiKey);
  return inTurn([workspace], context, () => createInTurn(inputs, context, { apiKey, workspace }));
}

async function createInTurn(
  inputs: WebhookInputs,
  context: OperationContext,
  { apiKey, workspace }: { apiKey: string; workspace: string },
): Promise<WebhookState> {
  const { name } = inputs;
  const claim = { claimId: createClaimId(), name, resource: resourceOf(inputs, context) };
  const client = createClient(inputs, apiKey, context);
  const toOuts = (seen: Registration): WebhookState => toState(inputs, seen, { apiKey, ...claim });
  const { state: former, isHandedOver } = replacedBy(workspace, claim.resource);
  let seen: Registration | undefined;
  /** The state for the engine to keep if this fails. */
  let left = isHandedOver && former ? { ...former, name } : undefined;
  try {
    seen = await getWebhookBeforeSet(client, inputs);
    const isFormer =
      seen !== undefined &&
      former !== undefined &&
      isOurs(seen, former.applied) &&
      (isHandedOver || otherHolderOf(seen.botUrl, claim.claimId) === undefined);
    if (seen && seen.botUrl !== "") claimBot(seen.botUrl, claim);
    if (isFormer) left = { ...former, name };
    else if (seen) refuseForeign(seen, inputs);
    const { registration, wasSet } = await registerIfNeeded({
      inputs: withTimeLimit(inputs, "readySeconds", context),
      client,
      seen,
      former: isFormer ? former : undefined,
      isDue: isHandedOver,
      signal: context.signal,
    });
    left = toOuts(registration);
    claimBot(registration.botUrl, claim);
    if (!isFormer) printAdoptedOrReplaced(seen, inputs, wasSet);
    return left;
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    if (error instanceof UnconfirmedError) {
      if (error.seen) left = toOuts(error.seen);
      else if (left) left = withAttempt(left, inputs);
      // If the workspace already had a webhook, its bot is known.
      else if (seen && seen.botUrl !== "") left = toOuts({ ...inputs, botUrl: seen.botUrl, status: "" });
    }
    if (left) throw new UnfinishedError(left.botUrl, left, error);
    if (seen) releaseBot(seen.botUrl, claim.claimId);
    throw error;
  }
}

/** Prints what was adopted or replaced, because the engine prints "created" in both cases. */
function printAdoptedOrReplaced(
  seen: Registration | undefined,
  { name, webhookUrl }: WebhookInputs,
  wasSet: boolean,
): void {
  if (!seen) return;
  if (!isSameUrl(seen.webhookUrl, webhookUrl)) return printReplaced(name, seen);
  const what = wasSet ? "its key or status differed, so it was set again" : "nothing was written";
  printLine(name, `adopted ${formatUrl(webhookUrl)}, which was registered already; ${what}`);
}

/**
 * Prints which webhook was replaced, and that `onExisting: "replace"` can be removed: left in, it would replace the
 * next one too.
 */
const printReplaced = (name: string, seen: Registration): void =>
  printLine(name, `replaced ${formatUrl(seen.webhookUrl)}; onExisting: "replace" may be removed now`);

/**
 * Updates the registration to match the program, and calls set-webhook only if the URL, key or status differs. Changes
 * it only if it is still ours, or if a refresh has shown its drift.
 */
export function updateWebhook(
  id: string,
  state: WebhookState,
  inputs: WebhookInputs,
  context: OperationContext = {},
): Promise<WebhookState> {
  const apiKey = requireApiKey(inputs.apiKey);
  const workspaces = [inputs.baseUrl, state.baseUrl].map((baseUrl) => workspaceOf(baseUrl, apiKey));
  return inTurn(workspaces, context, () => updateInTurn(id, state, inputs, { ...context, apiKey }));
}

async function updateInTurn(
  id: string,
  state: WebhookState,
  inputs: WebhookInputs,
  { apiKey, ...context }: OperationContext & { apiKey: string },
): Promise<WebhookState> {
  const { name, baseUrl } = inputs;
  const { claimId } = state.applied;
  const claim = { claimId, name, resource: resourceOf(inputs, context) };
  const client = createClient(inputs, apiKey, context);
  const toOuts = (registered: Registration): WebhookState => toState(inputs, registered, { apiKey, claimId });
  const seen = await client.getWebhook();
  requireSameWorkspace({ seen, apiKey }, state, { baseUrl, operation: "set-webhook" });
  claimBot(state.applied.botUrl, claim);
  const isTakenOver = seen !== undefined && isForeign(seen, state, inputs);
  if (isTakenOver && inputs.onExisting !== "replace") throw takenOver(seen, state, inputs);
  if (seen && isUpToDate(seen, state, inputs)) return toOuts(seen);
  let left: WebhookState | undefined;
  try {
    const registration = await register({
      inputs: withTimeLimit(inputs, "readySeconds", context),
      client,
      before: rememberBefore(seen, state),
      signal: context.signal,
    });
    left = toOuts(registration);
    claimBot(registration.botUrl, claim);
    if (isTakenOver) printReplaced(name, seen);
    return left;
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    if (error instanceof UnconfirmedError)
      left = error.seen ? toOuts(error.seen) : withAttempt(state, inputs);
    if (!left) throw error;
    throw new UnfinishedError(id, left, error);
  }
}

/** The previous state, plus the URL that may be registered now, which counts as ours too. */
function withAttempt(state: WebhookState, { name, webhookUrl }: WebhookInputs): WebhookState {
  const attempted = [...new Set([...(state.applied.attempted ?? []), webhookUrl])];
  return { ...state, name, applied: { ...state.applied, attempted } };
}

/**
 * A different URL with a different key is someone else's registration. A different URL with our key is ours, changed by
 * hand: it is repaired once a refresh has shown it, because then the preview named it.
 */
function isForeign(seen: Registration, state: WebhookState, inputs: WebhookInputs): boolean {
  const isWanted = isSameUrl(seen.webhookUrl, inputs.webhookUrl);
  const isShownDrift = hideQuery(seen.webhookUrl) === state.webhookUrl && showsOurKey(seen, state);
  return !isOurs(seen, state.applied) && !isWanted && !isShownDrift;
}

function takenOver(seen: Registration, state: WebhookState, inputs: WebhookInputs): ApiChatError {
  const hasOurKey = showsOurKey(seen, state);
  const at = formatUrl(inputs.baseUrl);
  const registered = formatUrl(seen.webhookUrl);
  const whose = hasOurKey ? "" : ". Its key is not ours either, so it is someone else's";
  return new ApiChatError(
    "conflict",
    `${at} now has the webhook ${registered}, not ${formatUrl(state.applied.url)}; nothing was written${whose}`,
    {
      operation: "set-webhook",
      facts: { at, registered },
      hints: [hasOurKey ? { id: "refresh_first" } : removeOther(inputs.baseUrl, seen.webhookUrl)],
    },
  );
}

/**
 * Compares with what the service returned when we last set the webhook, because it may normalize URLs and mask keys.
 */
function isUpToDate(seen: Registration, state: WebhookState, inputs: WebhookInputs): boolean {
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
 * Removes the registration if it is still ours. Succeeds if nothing is registered. Keeps someone else's webhook, with a
 * warning, and one that the program still declares: the resource that declares it sets it again. Reads the registration
 * again before each retry. For a replacement, it first performs the handshake of the new webhook, so that a live
 * webhook is not removed for one that cannot be registered.
 */
export async function deleteWebhook(state: WebhookState, context: OperationContext = {}): Promise<void> {
  const resource = resourceOf({ name: currentNameOf(state) }, context);
  const apiKeys = apiKeyCandidates(state, resource);
  const workspaces = apiKeys.map((apiKey) => workspaceOf(state.baseUrl, apiKey));
  await inTurn(workspaces, context, () => deleteInTurn(state, { ...context, resource, apiKeys }));
  releaseBot(state.applied.botUrl, state.applied.claimId);
}

async function deleteInTurn(
  state: WebhookState,
  { resource, apiKeys, ...context }: OperationContext & { resource: string; apiKeys: readonly string[] },
): Promise<void> {
  const { botUrl, claimId } = state.applied;
  const holder = otherHolderOf(botUrl, claimId);
  if (holder) return printStays(state, holder.name);
  const observed = await observe(state, apiKeys, context);
  const workspace = workspaceOf(state.baseUrl, observed.apiKey);
  const own = declaredAs(resource);
  const replacement = (declaredAt(workspace, resource) ?? own)?.inputs;
  if (!isOursToDelete(observed, state, replacement)) return;
  if (replacement) await tryReplacement(replacement, context);
  const hasMoved = own !== undefined && (await reachesBot(own, botUrl, context));
  // Asked last: by now the program may have declared the workspace.
  const heir = declaredAt(workspace, resource) ?? (hasMoved ? own : undefined);
  if (heir) {
    handOver(state, heir);
    return printStays(state, heir.inputs.name);
  }
  await removeRegistration(observed.client, state.baseUrl, (seen) =>
    isOursToDelete({ ...observed, seen }, state, replacement),
  );
}

/**
 * Whether a declared resource leads to the workspace of a bot: a different address or API key may reach the same one.
 */
async function reachesBot(
  { inputs, apiKey }: Declared,
  botUrl: string,
  context: OperationContext,
): Promise<boolean> {
  const seen = await getWebhookIfAny(createClient(inputs, apiKey, context));
  return seen !== undefined && isSameBot(seen.botUrl, botUrl);
}

const printStays = (state: WebhookState, manager: string): void =>
  printLine(currentNameOf(state), `the webhook stays: it is still managed by this program, as "${manager}"`);

/**
 * Performs the handshake of the declared webhook, unless it depends on something that is also replaced and not known
 * yet.
 */
async function tryReplacement(inputs: WebhookInputs, { signal }: OperationContext): Promise<void> {
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
    currentNameOf(state),
    `${formatUrl(state.baseUrl)} now has the webhook ${formatUrl(seen.webhookUrl)} of the bot ${botCodeOf(seen.botUrl)}, which is not ours; it was not removed`,
  );
  return false;
}

/**
 * A different API key may lead to a different workspace, and then our webhook would be orphaned: only the same bot
 * rules that out. A replacement proceeds if nothing is registered, because the program says where the webhook belongs
 * now.
 */
function requireOurWorkspace(
  { seen, apiKey }: Observed,
  state: WebhookState,
  replacement: WebhookInputs | undefined,
): void {
  if (isLastApiKey(apiKey, state) || (seen && isSameBot(seen.botUrl, state.applied.botUrl))) return;
  const at = formatUrl(state.baseUrl);
  if (!seen && replacement) {
    return printWarning(
      currentNameOf(state),
      `${at} has no webhook, but this was checked with a different API key than the one last used; if that key is for another workspace, the old webhook is still registered in the previous workspace`,
    );
  }
  const what = seen ? `the bot ${botCodeOf(seen.botUrl)}` : "nothing registered";
  throw new ApiChatError(
    "conflict",
    `${at} shows ${what}, but for a different API key than the one last used, so it may be another workspace; nothing was deleted`,
    { operation: "delete-webhook", facts: { at }, hints: [{ id: "set_api_key_or_forget" }] },
  );
}

/**
 * Calls delete-webhook. Before each retry, it reads the registration and asks `mayDelete` whether to delete it. Throws
 * `protocol` if the service shows that something is left.
 */
export async function removeRegistration(
  client: RegistrationClient,
  baseUrl: string,
  mayDelete: (seen: Registration | undefined) => boolean,
): Promise<void> {
  const left = await client
    .deleteWebhook({ beforeRepeat: async () => mayDelete(await client.getWebhook()) })
    .catch((error: unknown) => observeEffect(client, error));
  if (left === undefined) return;
  throw new ApiChatError(
    "protocol",
    `${formatUrl(baseUrl)} still shows ${formatUrl(left.webhookUrl)} after delete-webhook`,
    { operation: "delete-webhook", hints: [{ id: "delete_again" }] },
  );
}

/** After delete-webhook lost its response: if nothing is registered now, it took effect. */
async function observeEffect(client: RegistrationClient, lost: unknown): Promise<undefined> {
  if (!(lost instanceof ApiChatError) || !lost.mayHaveBeenAccepted) throw lost;
  const now = await client.getWebhook().catch((error: unknown) => {
    throw error instanceof ApiChatError ? lost : error;
  });
  if (now !== undefined) throw lost;
}

/**
 * Tells the engine to keep the state of an unfinished operation; the next `up` calls update. The engine prints only
 * `reasons`.
 */
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
