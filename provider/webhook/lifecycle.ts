import {
  RegistrationClient,
  mayMeanWrongKey,
  type Registration,
  type RegistrationClientOptions,
} from "../client/registration-client.js";
import { ApiChatError, removalCommand, type Hint } from "../errors/index.js";
import { isUnknown, type RawInputs } from "../lib/checks.js";
import { describeFailure, printIfSlow, printLine, printWarning } from "../lib/provider-process.js";
import { botCodeOf, hideQuery, isSameBot, isSameUrl, formatUrl } from "../lib/url.js";
import { checkWebhook, diffWebhook } from "./inputs.js";
import { isRegistered, register } from "./register.js";
import { resourceOf, settingMissing, workspaceOf, type OperationContext } from "./run.js";
import {
  DRIFTED_KEY,
  IMPORTED_KEY,
  KEY_DRIFTED,
  VERIFIED,
  createClaimId,
  expectedUrl,
  inputsOf,
  isLastApiKey,
  isOurs,
  requireState,
  showsOurKey,
  toState,
  type DriftedProperty,
  type WebhookInputs,
  type WebhookState,
} from "./state.js";

/** The lifecycle of `ApiChatWebhook` in one run, in the form that the SDK's dynamic provider calls. */
export const webhookLifecycle = (context: OperationContext) => ({
  check: async (_olds: unknown, news: RawInputs) => checkWebhook(news, context),
  diff: async (_id: string, olds: WebhookState, news: WebhookInputs) =>
    diffWebhook(requireState(olds), news, context),
  create: async (inputs: WebhookInputs) => {
    const outs = await createWebhook(inputs, context);
    return { id: outs.botUrl, outs };
  },
  read: async (_id: string, state: WebhookState) => readWebhook(requireState(state), context),
  update: async (_id: string, olds: WebhookState, news: WebhookInputs) => ({
    outs: await updateWebhook(requireState(olds), news, context),
  }),
  delete: async (_id: string, state: WebhookState) => deleteWebhook(requireState(state), context),
});

/**
 * Registers the webhook, or adopts an existing registration of the same URL: left by a run that lost the response, or
 * made outside this program. A different URL is a conflict unless `onExisting` is "replace".
 */
function createWebhook(inputs: WebhookInputs, context: OperationContext): Promise<WebhookState> {
  const { run } = context;
  const access = accessTo(inputs, context);
  return run.inTurn([access.workspace], context, async () => {
    let found: Found | undefined;
    try {
      found = await lookBeforeCreate(access);
      const { seen, former } = found;
      if (seen) run.claimBot(seen.botUrl, access.claim);
      if (seen && !former) refuseForeign(seen, inputs, run.holderOf(seen, access.claim));
      const isDone = seen && isRegistered(seen, inputs);
      const isAdopted = !former || former.applied.adopted;
      const outs = isDone ? access.toOuts(seen, isAdopted) : await setWebhook(access, found);
      if (seen && !former) printAdoptedOrReplaced(seen, inputs, !isDone);
      return outs;
    } catch (error) {
      if (!(error instanceof ApiChatError)) throw error;
      const { seen } = found ?? {};
      if (seen) run.releaseBot(seen.botUrl, access.claim.claimId);
      throw error;
    }
  });
}

type Found = Awaited<ReturnType<typeof lookBeforeCreate>>;

/** Reads what is registered. `former` is the state that recorded it, if this create replaces that resource. */
async function lookBeforeCreate({ inputs, run, claim, client }: Access) {
  const seen = await getWebhookBeforeSet(client, inputs);
  const recorded = run.stateOf(claim.resource);
  const isFormer =
    seen !== undefined &&
    recorded !== undefined &&
    isOurs(seen, recorded.applied) &&
    run.otherHolderOf(seen.botUrl, claim.claimId) === undefined;
  return { seen, former: isFormer ? recorded : undefined };
}

/**
 * Throws `conflict` if another URL is registered, unless `onExisting` is "replace". `holder` is the resource of this stack
 * that registered it, if that is known.
 */
export function refuseForeign(
  seen: Registration,
  { baseUrl, webhookUrl, onExisting }: WebhookInputs,
  holder?: string,
): void {
  if (onExisting === "replace" || isSameUrl(seen.webhookUrl, webhookUrl)) return;
  const at = formatUrl(baseUrl);
  const registered = formatUrl(seen.webhookUrl);
  const whose = holder === undefined ? "" : ` of this stack's own resource "${holder}"`;
  throw new ApiChatError(
    "conflict",
    `${at} already has a webhook, ${registered}${whose}; nothing was written`,
    {
      operation: "set-webhook",
      facts: { at, registered },
      hints: [removeOther(baseUrl, seen.webhookUrl), { id: "take_over" }, { id: "own_webhook" }],
    },
  );
}

/** The hint for removing someone else's webhook. */
export const removeOther = (baseUrl: string, webhookUrl: string): Hint => ({
  id: "remove_other",
  baseUrl: formatUrl(baseUrl),
  webhookUrl: formatUrl(webhookUrl),
});

/** Prints what was adopted or replaced, because the engine prints "created" in both cases. */
function printAdoptedOrReplaced(
  seen: Registration,
  { name, webhookUrl }: WebhookInputs,
  wasSet: boolean,
): void {
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

/** Time limit for the get-webhook call of a preview. */
const PREVIEW_TIMEOUTS = { requestSeconds: 5 };

/** What a preview finds of a create. */
export interface Foreseen {
  /** The registration that the create would adopt, or that it conflicts with. */
  seen?: Registration;
  /** What the create would throw. */
  conflict?: ApiChatError;
  /** What to tell the user. */
  line?: { kind: "info" | "warning"; text: string };
}

/**
 * Checks, in a preview, what a create would find, and writes nothing. A replacement finds nothing, because our registration
 * is set again. A failure other than a conflict is only a warning: a preview may run where the service cannot be reached.
 */
export async function previewCreate(inputs: WebhookInputs, context: OperationContext): Promise<Foreseen> {
  const { baseUrl, webhookUrl, onExisting } = inputs;
  if (isUnknown([baseUrl, context.run.requireApiKey(inputs.apiKey)])) return {};
  let seen: Registration | undefined;
  try {
    const access = accessTo({ ...inputs, timeouts: PREVIEW_TIMEOUTS }, context);
    const found = await lookBeforeCreate(access);
    seen = found.seen;
    if (!seen || found.former) return {};
    if (isUnknown([webhookUrl, onExisting])) {
      const registered = `${formatUrl(baseUrl)} already has the webhook ${formatUrl(seen.webhookUrl)}`;
      const text = `${registered}; it is not known yet whether pulumi up can proceed`;
      return { line: { kind: "info", text } };
    }
    refuseForeign(seen, inputs, context.run.holderOf(seen, access.claim));
    context.run.claimBot(seen.botUrl, access.claim);
    if (!isSameUrl(seen.webhookUrl, webhookUrl)) return {};
    const text = `adopts ${formatUrl(seen.webhookUrl)}, which is registered already`;
    return { seen, line: { kind: "info", text } };
  } catch (error) {
    context.signal?.throwIfAborted();
    if (!(error instanceof ApiChatError)) throw error;
    if (seen) return { seen, conflict: error };
    const advice = error.code === "unauthorized" ? "; check the API key, or pulumi up will fail" : "";
    const text = `${error.summary}; cannot tell what pulumi up would adopt${advice}`;
    return { line: { kind: "warning", text } };
  }
}

/** Checks, in a preview, whether an update would fail before it writes. Returns a warning for every failure. */
export async function previewUpdate(
  state: WebhookState,
  inputs: WebhookInputs,
  context: OperationContext,
): Promise<Foreseen["line"]> {
  const { baseUrl, webhookUrl, onExisting } = inputs;
  const apiKey = context.run.requireApiKey(inputs.apiKey);
  if (isUnknown([baseUrl, apiKey, webhookUrl, onExisting])) return undefined;
  try {
    const limited = { ...inputs, timeouts: PREVIEW_TIMEOUTS };
    await lookBeforeUpdate(accessTo(limited, context, state.applied.claimId), state);
    return undefined;
  } catch (error) {
    context.signal?.throwIfAborted();
    if (!(error instanceof ApiChatError)) throw error;
    const isTemporary = error.code === "unavailable" || error.code === "timeout";
    const outlook = isTemporary ? "cannot tell whether pulumi up will succeed" : "pulumi up will fail";
    return { kind: "warning", text: `${outlook}: ${error.message}` };
  }
}

/** What a read returns to the engine: nothing tells it that the resource is gone. */
type ReadResult = Partial<{ id: string; props: WebhookState; inputs: WebhookInputs }>;

/**
 * Reads the workspace's registration. Returns nothing if there is none, and the next `up` creates it. A difference is
 * returned as `drift` and in the inputs, so that the next preview shows it; a changed key is reported by diff, which
 * the engine calls right away. Authorization and transport failures are thrown, and never mean that it is gone.
 */
async function readWebhook(state: WebhookState, context: OperationContext): Promise<ReadResult> {
  const { run } = context;
  const resource = resourceOf({ name: run.currentNameOf(state) }, context);
  const apiKeys = run.apiKeyCandidates(state, resource);
  const observed = await observe(state, apiKeys, context);
  requireSameWorkspace(observed, state, { baseUrl: state.baseUrl, operation: "get-webhook" });
  const { seen } = observed;
  if (!seen) return {};
  run.recordRead(state, resource);
  const { drift: _, ...rest } = state;
  const { applied } = state;
  const shown = {
    webhookUrl: seen.webhookUrl === expectedUrl(applied) ? applied.url : hideQuery(seen.webhookUrl),
    status: seen.status,
    botUrl: seen.botUrl,
  };
  const hasOurKey = showsOurKey(seen, state);
  const drift = [
    ...compare("webhookUrl", applied.url, shown.webhookUrl),
    ...(hasOurKey ? [] : [DRIFTED_KEY]),
    ...compare("status", VERIFIED, shown.status),
    ...compare("botUrl", applied.botUrl, shown.botUrl),
  ];
  const props = { ...rest, ...shown, ...(drift.length === 0 ? {} : { drift }) };
  const inputs = { ...inputsOf(props), ...(hasOurKey ? {} : { webhookVerificationKey: KEY_DRIFTED }) };
  return { id: seen.botUrl, props, inputs };
}

const compare = (
  property: DriftedProperty["property"],
  expected: string,
  actual: string,
): DriftedProperty[] =>
  expected === actual ? [] : [{ property, expected: hideQuery(expected), actual: hideQuery(actual) }];

/**
 * Like {@link readWebhook}, but by an ID alone, for an import or the `get` of an SDK: the base URL, or the resource's own ID,
 * which is its bot URL. The key is never read from the service; {@link IMPORTED_KEY} takes its place until the program
 * sets it.
 */
export async function importWebhook(
  { name, id }: { name: string; id: string },
  context: OperationContext,
): Promise<ReadResult> {
  const apiKey = context.run.requireApiKey(undefined);
  // A bot URL does not contain the base URL, so that one must be configured.
  const botUrl = BOT_URL.test(id) ? id : undefined;
  const baseUrl = (botUrl && context.run.defaultBaseUrl()) ?? id;
  const settings = withTimeLimit({ name, baseUrl }, "requestSeconds", context);
  const seen = await createClient(settings, apiKey, context.signal)
    .getWebhook()
    .catch((error: unknown) => {
      if (!(error instanceof ApiChatError) || baseUrl !== botUrl) throw error;
      throw error.with({ hints: [{ id: "configure_base_url" }] });
    });
  if (!seen) return {};
  if (botUrl !== undefined && baseUrl !== botUrl && !isSameBot(seen.botUrl, botUrl)) {
    const [at, bot, expectedBot] = [formatUrl(baseUrl), botCodeOf(seen.botUrl), botCodeOf(botUrl)];
    const summary = `${at} reaches the bot ${bot}, not ${expectedBot} of the id`;
    const hints: Hint[] = [{ id: "configure_base_url" }];
    const facts = { at, bot, expectedBot };
    throw new ApiChatError("conflict", summary, { operation: "get-webhook", facts, hints });
  }
  const { webhookUrl } = seen;
  const inputs = { name, baseUrl, webhookUrl, webhookVerificationKey: IMPORTED_KEY, status: VERIFIED };
  const props = toState(inputs, seen, { apiKey, claimId: createClaimId() });
  return { id: seen.botUrl, props, inputs };
}

/** The form of section 2.1. */
const BOT_URL = /^https?:\/\/[^?#]+\/api\/apichat\/[^/?#]+\/?$/i;

/**
 * The result of `getApiChatWebhook`: the registration without the key and with query values hidden, or empty strings if
 * nothing is registered.
 */
export async function readRegistration(
  baseUrl: string | undefined,
  apiKey: string | undefined,
  signal?: AbortSignal,
): Promise<{ webhookUrl: string; status: string; botUrl: string }> {
  if (baseUrl === undefined) throw settingMissing("baseUrl", "getApiChatWebhook");
  if (apiKey === undefined) throw settingMissing("apiKey", "getApiChatWebhook");
  const seen = await new RegistrationClient({ baseUrl, apiKey, signal }).getWebhook();
  const { webhookUrl, status, botUrl } = seen ?? { webhookUrl: "", status: "", botUrl: "" };
  return { webhookUrl: hideQuery(webhookUrl), status, botUrl };
}

/**
 * Updates the registration to match the program, and calls set-webhook only if the URL, key or status differs. Changes
 * it only if it is still ours, or if a refresh has shown its drift.
 */
function updateWebhook(
  state: WebhookState,
  inputs: WebhookInputs,
  context: OperationContext,
): Promise<WebhookState> {
  const access = accessTo(inputs, context, state.applied.claimId);
  const workspaces = [access.workspace, workspaceOf(state.baseUrl, access.apiKey)];
  return context.run.inTurn(workspaces, context, async () => {
    const { seen, isForeign } = await lookBeforeUpdate(access, state);
    if (seen && isUpToDate(seen, state, inputs)) return access.toOuts(seen, state.applied.adopted);
    const outs = await setWebhook(access, { seen, former: state });
    if (seen && isForeign) printReplaced(inputs.name, seen);
    return outs;
  });
}

/** Reads what is registered. Throws `conflict` unless the update may write it. */
async function lookBeforeUpdate(access: Access, state: WebhookState) {
  const { inputs, run, client, claim } = access;
  const seen = await client.getWebhook();
  requireSameWorkspace({ ...access, seen }, state, { baseUrl: inputs.baseUrl, operation: "set-webhook" });
  run.claimBot(state.applied.botUrl, claim);
  return { seen, isForeign: seen !== undefined && isTakenOver(seen, state, inputs) };
}

/**
 * Sets the webhook, and claims its bot. If that fails when it may be registered already, throws an
 * {@link UnfinishedError} with the state to keep.
 */
async function setWebhook(
  { inputs, context, run, client, claim, toOuts }: Access,
  { seen, former }: Found,
): Promise<WebhookState> {
  let left: WebhookState | undefined;
  try {
    const registration = await register({
      run,
      inputs: withTimeLimit(inputs, "readySeconds", context),
      client,
      seen,
      former,
      signal: context.signal,
      onUnconfirmed: (shown) => {
        if (shown) left = toOuts(shown);
        else if (former) left = withAttempt(former, inputs);
        // If the workspace already had a webhook, its bot is known.
        else if (seen && seen.botUrl !== "") left = toOuts({ ...inputs, botUrl: seen.botUrl, status: "" });
      },
    });
    left = toOuts(registration);
    run.claimBot(registration.botUrl, claim);
    return left;
  } catch (error) {
    throw error instanceof ApiChatError && left ? new UnfinishedError(left, error) : error;
  }
}

/** The previous state, plus the URL that may be registered now, which counts as ours too. */
function withAttempt(state: WebhookState, { name, webhookUrl }: WebhookInputs): WebhookState {
  const attempted = [...new Set([...(state.applied.attempted ?? []), webhookUrl])];
  return { ...state, name, applied: { ...state.applied, attempted } };
}

/**
 * Whether the registration is someone else's, to be replaced. Throws `conflict` unless `onExisting` is "replace". A
 * different URL with our key is ours, changed by hand: it is repaired once a refresh has shown it, because then the
 * preview named it.
 */
function isTakenOver(seen: Registration, state: WebhookState, inputs: WebhookInputs): boolean {
  const { baseUrl, webhookUrl, onExisting } = inputs;
  const hasOurKey = showsOurKey(seen, state);
  const isShownDrift = hasOurKey && hideQuery(seen.webhookUrl) === state.webhookUrl;
  if (isOurs(seen, state.applied) || isSameUrl(seen.webhookUrl, webhookUrl) || isShownDrift) return false;
  if (onExisting === "replace") return true;
  const at = formatUrl(baseUrl);
  const registered = formatUrl(seen.webhookUrl);
  const whose = hasOurKey ? "" : ". Its key is not ours either, so it is someone else's";
  const summary = `${at} now has the webhook ${registered}, not ${formatUrl(state.applied.url)}; nothing was written${whose}`;
  const hints: Hint[] = hasOurKey
    ? [{ id: "refresh_first" }]
    : [removeOther(baseUrl, seen.webhookUrl), { id: "take_over" }];
  throw new ApiChatError("conflict", summary, { operation: "set-webhook", facts: { at, registered }, hints });
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
 * warning, and one that the program still declares or that another state holds, such as the replacement of this one.
 * Reads the registration again before each retry.
 */
async function deleteWebhook(state: WebhookState, context: OperationContext): Promise<void> {
  const { run } = context;
  const { botUrl, claimId, adopted } = state.applied;
  const name = run.currentNameOf(state);
  const resource = resourceOf({ name }, context);
  // A create of the same resource may follow.
  run.recordRead(state, resource);
  const apiKeys = run.apiKeyCandidates(state, resource);
  const workspaces = apiKeys.map((apiKey) => workspaceOf(state.baseUrl, apiKey));
  const printStays = (manager: string): void =>
    printLine(name, `the webhook stays: it is still managed by this program, as "${manager}"`);
  await run.inTurn(workspaces, context, async () => {
    const holder = run.otherHolderOf(botUrl, claimId);
    if (holder) return printStays(holder.name);
    const observed = await observe(state, apiKeys, context);
    const declarer = (): string | undefined => run.declarerOf(workspaceOf(state.baseUrl, observed.apiKey));
    const mayDelete = (seen: Registration | undefined): boolean =>
      isOursToDelete({ ...observed, seen }, { ...state, name }, declarer() !== undefined);
    if (!mayDelete(observed.seen)) return;
    // Asked after the look, because the program may have declared the workspace in the meantime.
    const manager = declarer();
    if (manager !== undefined) return printStays(manager);
    if (adopted && run.logProblem !== undefined) return warnOfAdopted({ ...state, name }, run.logProblem);
    await removeRegistration(observed.client, state.baseUrl, mayDelete);
  });
  run.releaseBot(botUrl, claimId);
}

/**
 * Whether the registration is ours to delete. Throws `conflict` if it may be another workspace: a different API key may
 * lead there, and then our webhook would be orphaned; only the same bot rules that out. If nothing is registered, it
 * does not throw for a workspace that the program still declares.
 */
function isOursToDelete({ seen, apiKey }: Observed, state: WebhookState, isDeclared: boolean): boolean {
  const { name, applied } = state;
  const at = formatUrl(state.baseUrl);
  const what = seen ? `the bot ${botCodeOf(seen.botUrl)}` : "nothing registered";
  const isSameWorkspace = isLastApiKey(apiKey, state) || (seen && isSameBot(seen.botUrl, applied.botUrl));
  if (!isSameWorkspace && (seen || !isDeclared)) {
    throw new ApiChatError(
      "conflict",
      `${at} shows ${what}, but for a different API key than the one last used, so it may be another workspace; nothing was deleted`,
      { operation: "delete-webhook", facts: { at }, hints: [{ id: "set_api_key_or_forget" }] },
    );
  }
  if (!seen) {
    if (!isSameWorkspace) {
      const doubt =
        "this was checked with a different API key than the one last used; if that key is for another workspace, the old webhook is still registered in the previous workspace";
      printWarning(name, `${at} has no webhook, but ${doubt}`);
    }
    return false;
  }
  if (isOurs(seen, applied)) return true;
  const webhook = `the webhook ${formatUrl(seen.webhookUrl)} of ${what}`;
  printWarning(name, `${at} now has ${webhook}, which is not ours; it was not removed`);
  return false;
}

/** Prints why an adopted webhook stays in a run whose providers do not see each other's webhooks, and how to remove it. */
function warnOfAdopted({ name, baseUrl, applied }: WebhookState, problem: string): void {
  const removal = removalCommand({ baseUrl: formatUrl(baseUrl), webhookUrl: formatUrl(applied.url) });
  printWarning(
    name,
    `the webhook stays: it was adopted, and another provider of this program may manage it, which cannot be seen: ${problem}; to remove it, run: ${removal}`,
  );
}

/**
 * Calls delete-webhook. Before each retry, it reads the registration and asks `mayDelete` whether to delete it. Throws
 * `protocol` if the service shows that something is left.
 */
export async function removeRegistration(
  client: WorkspaceClient,
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
async function observeEffect(client: WorkspaceClient, lost: unknown): Promise<undefined> {
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

/**
 * Applies the engine's time limit (`customTimeouts`) to the timeout named by `limit`, unless the program sets that
 * timeout itself. It applies to this operation only, so it is never stored in the state.
 */
function withTimeLimit<T extends Pick<WebhookInputs, "name" | "timeouts">>(
  inputs: T,
  limit: "requestSeconds" | "readySeconds",
  { limitSeconds }: OperationContext,
): T {
  if (limitSeconds === undefined) return inputs;
  return { ...inputs, timeouts: { [limit]: limitSeconds, ...inputs.timeouts } };
}

type Access = ReturnType<typeof accessTo>;

/** What an operation on one webhook needs. `toOuts` makes the state of what is registered. */
function accessTo(inputs: WebhookInputs, context: OperationContext, claimId = createClaimId()) {
  const { run, signal } = context;
  const apiKey = run.requireApiKey(inputs.apiKey);
  return {
    inputs,
    context,
    run,
    apiKey,
    workspace: workspaceOf(inputs.baseUrl, apiKey),
    client: createClient(inputs, apiKey, signal),
    claim: { claimId, name: inputs.name, resource: resourceOf(inputs, context) },
    toOuts: (seen: Registration, adopted?: boolean) => toState(inputs, seen, { apiKey, claimId, adopted }),
  };
}

/** The calls for one workspace. */
export type WorkspaceClient = Pick<RegistrationClient, "getWebhook" | "setWebhook" | "deleteWebhook">;

/** A client for one workspace that prints what it waits for. */
export function createClient(
  {
    name,
    baseUrl,
    timeouts,
    apiKeyAs,
  }: Pick<WebhookInputs, "name" | "baseUrl" | "timeouts"> & Pick<RegistrationClientOptions, "apiKeyAs">,
  apiKey: string,
  signal?: AbortSignal,
): WorkspaceClient {
  const at = formatUrl(baseUrl);
  let attempt = 1;
  const client = new RegistrationClient({
    baseUrl,
    apiKey,
    apiKeyAs,
    requestSeconds: timeouts?.requestSeconds,
    signal,
    onRetry: (retry) => (attempt = retry.attempt + 1),
  });
  const announce = <T>(what: string, work: () => Promise<T>): Promise<T> => {
    attempt = 1;
    return printIfSlow(name, () => `waiting for ${what}, attempt ${attempt}`, work, signal);
  };
  return {
    getWebhook: (options) => announce(`get-webhook at ${at}`, () => client.getWebhook(options)),
    setWebhook: (options) =>
      announce(`${at} to accept ${formatUrl(options.webhookUrl)}`, () => client.setWebhook(options)),
    deleteWebhook: (options) => announce(`delete-webhook at ${at}`, () => client.deleteWebhook(options)),
  };
}

type Reader = Pick<WorkspaceClient, "getWebhook">;

/**
 * Whether a failure may mean that a workspace never had a webhook: HTTP 404. The specification does not define the response in
 * that case.
 */
export const mayMeanNeverSet = (error: unknown): boolean =>
  error instanceof ApiChatError && error.code === "rejected" && error.httpStatus === 404;

/** Reads the registration of a workspace that may never have had a webhook. Undefined without one. */
export const getWebhookIfAny = (client: Reader): Promise<Registration | undefined> =>
  client.getWebhook().catch((error: unknown) => {
    if (mayMeanNeverSet(error)) return undefined;
    throw error;
  });

/**
 * Like {@link getWebhookIfAny}, but with `onExisting: "replace"` an unusable response is treated as if nothing were
 * registered.
 */
export async function getWebhookBeforeSet(
  client: Reader,
  { onExisting }: Pick<WebhookInputs, "onExisting">,
): Promise<Registration | undefined> {
  try {
    return await getWebhookIfAny(client);
  } catch (error) {
    if (!(error instanceof ApiChatError) || (error.code !== "rejected" && error.code !== "protocol"))
      throw error;
    if (onExisting === "replace") return undefined;
    throw error.with({
      summary: `${error.summary}. Nothing was written, because it is not known what is registered`,
      hints: [...error.hints, { id: "allow_replace" }],
    });
  }
}

type Observed = Awaited<ReturnType<typeof observe>>;

/**
 * Reads the registration with the first API key that the service accepts, and returns both; after a rotation, that is
 * not the recorded one.
 */
async function observe(state: WebhookState, apiKeys: readonly string[], context: OperationContext) {
  const settings = withTimeLimit(state, "requestSeconds", context);
  let refusal: ApiChatError | undefined;
  for (const apiKey of apiKeys) {
    const client = createClient(settings, apiKey, context.signal);
    try {
      return { seen: await client.getWebhook(), client, apiKey };
    } catch (error) {
      if (!(error instanceof ApiChatError) || !mayMeanWrongKey(error)) throw error;
      // Report the refusal of the first key.
      refusal ??= error;
    }
  }
  if (!refusal) throw settingMissing("apiKey");
  throw refusal.with({ hints: [...refusal.hints, { id: "rotated_api_key" }] });
}

/**
 * Throws `conflict` if the current base URL and API key lead to a different workspace than the recorded one. An empty
 * workspace has no bot code, so only an unchanged base URL and API key show that it is the same.
 */
function requireSameWorkspace(
  { seen, apiKey }: Pick<Observed, "seen" | "apiKey">,
  state: WebhookState,
  { baseUrl, operation }: { baseUrl: string; operation: "get-webhook" | "set-webhook" },
): void {
  const at = formatUrl(baseUrl);
  const expectedBot = botCodeOf(state.applied.botUrl);
  const hints: Hint[] = [{ id: "other_workspace" }];
  if (seen?.botUrl === "") {
    const summary = `${at} returned a webhook without bot_url, so its bot cannot be identified`;
    throw new ApiChatError("protocol", summary, { operation, facts: { at } });
  }
  if (seen && !isSameBot(seen.botUrl, state.applied.botUrl)) {
    const bot = botCodeOf(seen.botUrl);
    const summary = `${at} now reaches the bot ${bot}, not ${expectedBot}: nothing was written`;
    throw new ApiChatError("conflict", summary, { operation, facts: { at, bot, expectedBot }, hints });
  }
  if (!seen && (baseUrl !== state.baseUrl || !isLastApiKey(apiKey, state))) {
    const summary =
      `${at} has no webhook, and the base URL or API key differs from the one last used: ` +
      `this may no longer be the workspace of the bot ${expectedBot}, so nothing was written`;
    throw new ApiChatError("conflict", summary, { operation, facts: { at, expectedBot }, hints });
  }
}
