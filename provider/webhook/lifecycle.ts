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
  type OperationContext,
  type StoredState,
  type WebhookInputs,
  type WebhookState,
} from "./contract.js";
import {
  createClient,
  observe,
  observeBeforeSet,
  observeFirst,
  refuseForeign,
  removeOther,
  requireSameWorkspace,
  type Observed,
} from "./observe.js";
import { preflight } from "./preflight.js";
import { UnconfirmedError, register, registerIfNeeded, rememberBefore } from "./register.js";
import {
  apiKeyCandidates,
  apiKeyFor,
  claimBot,
  declaredAs,
  declaredAt,
  handOver,
  inTurn,
  nameOf,
  otherHolderOf,
  releaseBot,
  replacedBy,
  resourceOf,
  workspaceOf,
  type Declared,
} from "./run.js";

/**
 * Registers the webhook, or adopts a registration of the same URL: of an earlier run whose response was lost, or of an import.
 * Another URL is a conflict unless `onExisting` is "replace".
 */
export function createWebhook(inputs: WebhookInputs, context: OperationContext = {}): Promise<WebhookState> {
  const apiKey = apiKeyFor(inputs.apiKey);
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
  /** What the engine keeps if this fails. */
  let left = isHandedOver && former ? { ...former, name } : undefined;
  try {
    seen = await observeBeforeSet(client, inputs);
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
    if (!isFormer) printWhatWasThere(seen, inputs, wasSet);
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

/** The engine prints "created" for what was adopted or replaced too. */
function printWhatWasThere(
  seen: Registration | undefined,
  { name, webhookUrl }: WebhookInputs,
  wasSet: boolean,
): void {
  if (!seen) return;
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
export function updateWebhook(
  id: string,
  state: WebhookState,
  inputs: WebhookInputs,
  context: OperationContext = {},
): Promise<WebhookState> {
  const apiKey = apiKeyFor(inputs.apiKey);
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
  if (seen && isStillAsWanted(seen, state, inputs)) return toOuts(seen);
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
 * Removes the registration while it is ours. If nothing is registered, it succeeds; somebody else's stays, with a warning. So
 * does one that the program still declares: it is left to the resource that declares it, which sets it again. Each repetition
 * reads it again first. Where the program replaces the webhook, the handshake of the new one comes first: a live webhook is not
 * removed for one that cannot be registered.
 */
export async function deleteWebhook(state: WebhookState, context: OperationContext = {}): Promise<void> {
  const resource = resourceOf({ name: nameOf(state) }, context);
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

/** Whether what a resource declares is the workspace of a bot: another address or API key may reach the same one. */
async function reachesBot(
  { inputs, apiKey }: Declared,
  botUrl: string,
  context: OperationContext,
): Promise<boolean> {
  const seen = await observeFirst(createClient(inputs, apiKey, context));
  return seen !== undefined && isSameBot(seen.botUrl, botUrl);
}

const printStays = (state: WebhookState, manager: string): void =>
  printLine(nameOf(state), `the webhook stays: it is still managed by this program, as "${manager}"`);

/** Performs its handshake, unless it depends on something that is replaced too and is not known yet. */
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
  if (!(lost instanceof ApiChatError) || !lost.mayBeTaken) throw lost;
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
