import type { Registration } from "../client/internal.js";
import { ApiChatError, removalCommand } from "../errors/index.js";
import { printLine, printWarning } from "../lib/progress.js";
import { botCodeOf, formatUrl } from "../lib/url.js";
import type { RawInputs } from "../pulumi/check-and-diff.js";
import {
  type Ensured,
  type Observed,
  ensure,
  getWebhookBeforeSet,
  isInPlace,
  isOurs,
  isSameWorkspace,
  rejectForeign,
  rejectTakeover,
  remove,
  requireSameWorkspace,
  workspaceOf,
} from "../registration/index.js";
import { type Access, accessTo, observeState } from "./access.js";
import { checkWebhook, diffWebhook } from "./inputs.js";
import { readWebhook } from "./read.js";
import { type OperationContext, resourceOf } from "./run.js";
import {
  UnfinishedError,
  type WebhookInputs,
  type WebhookState,
  requireKey,
  requireWebhookState,
  toWebhookState,
  withAttempt,
} from "./state.js";

/** The lifecycle of `ApiChatWebhook` in one run, in the form that the SDK's dynamic provider calls. */
export const webhookLifecycle = (context: OperationContext) => ({
  check: async (_olds: unknown, news: RawInputs) => checkWebhook(news, context),
  diff: async (_id: string, olds: WebhookState, news: WebhookInputs) =>
    diffWebhook(requireWebhookState(olds), news, context),
  create: async (inputs: WebhookInputs) => {
    const outs = await createWebhook(inputs, context);
    return { id: outs.botUrl, outs };
  },
  read: async (_id: string, state: WebhookState) => readWebhook(requireWebhookState(state), context),
  update: async (_id: string, olds: WebhookState, news: WebhookInputs) => ({
    outs: await updateWebhook(requireWebhookState(olds), news, context),
  }),
  delete: async (_id: string, state: WebhookState) => deleteWebhook(requireWebhookState(state), context),
});

/** The registration that an operation read, and the state that recorded it if it is ours. */
interface Found {
  seen: Registration | undefined;
  ours: WebhookState | undefined;
}

/** Also adopts a registration of the same URL, from a run that lost the response or from another program. */
function createWebhook(inputs: WebhookInputs, context: OperationContext): Promise<WebhookState> {
  const { run } = context;
  const access = accessTo(inputs, context);
  return run.inTurn([access.workspace], context, async () => {
    const found = await lookBeforeCreate(access);
    const { seen, ours } = found;
    try {
      if (seen) run.claimBot(seen.botUrl, access.claim);
      if (seen && !ours) rejectForeign(seen, inputs, run.recordedBy(seen, access.claim));
      const { outs, how } = await apply(access, found);
      if (seen && !ours) printAdoptedOrReplaced(seen, inputs, how);
      return outs;
    } catch (error) {
      if (seen && error instanceof ApiChatError) run.releaseBot(seen.botUrl, access.claim.claimId);
      throw error;
    }
  });
}

/** Reads what is registered. If this create is a replacement, `ours` is the state of the replaced resource. */
export async function lookBeforeCreate({ inputs, run, claim, client }: Access): Promise<Found> {
  const seen = await getWebhookBeforeSet(client, inputs);
  const recorded = run.stateOf(claim.resource);
  const isReplacement =
    seen !== undefined &&
    recorded !== undefined &&
    isOurs(seen, recorded.applied) &&
    run.otherHolderOf(seen.botUrl, claim.claimId) === undefined;
  return { seen, ours: isReplacement ? recorded : undefined };
}

/** Prints what was adopted or replaced, because the engine prints "created" in both cases. */
function printAdoptedOrReplaced(
  seen: Registration,
  { name, webhookUrl }: WebhookInputs,
  how: Ensured["how"],
): void {
  if (how === "replaced") return printReplaced(name, seen);
  const what =
    how === "unchanged" ? "nothing was written" : "its key or status differed, so it was set again";
  printLine(name, `adopted ${formatUrl(webhookUrl)}, which was already registered; ${what}`);
}

/** Also prints that `onExisting: "replace"` can be removed: if kept, it might later replace another webhook. */
const printReplaced = (name: string, seen: Registration): void =>
  printLine(name, `replaced ${formatUrl(seen.webhookUrl)}; onExisting: "replace" may be removed now`);

/** Updates the registration, unless it may not be overwritten: see {@link lookBeforeUpdate}. */
function updateWebhook(
  state: WebhookState,
  inputs: WebhookInputs,
  context: OperationContext,
): Promise<WebhookState> {
  const access = accessTo(inputs, context, state.applied.claimId);
  const workspaces = [access.workspace, workspaceOf(state.baseUrl, access.apiKey)];
  return context.run.inTurn(workspaces, context, async () => {
    const seen = await lookBeforeUpdate(access, state);
    const { outs, how } = await apply(access, { seen, ours: state });
    if (seen && how === "replaced" && inputs.onExisting === "replace") printReplaced(inputs.name, seen);
    return outs;
  });
}

/** Reads what is registered. Throws `conflict` if the update may not overwrite it. */
export async function lookBeforeUpdate(
  access: Access,
  state: WebhookState,
): Promise<Registration | undefined> {
  const { inputs, run, client, claim } = access;
  const seen = await client.getWebhook();
  requireSameWorkspace({ ...access, seen }, state, { baseUrl: inputs.baseUrl, operation: "set-webhook" });
  run.claimBot(state.applied.botUrl, claim);
  if (seen) rejectTakeover(seen, { ...state, shownUrl: state.webhookUrl }, inputs);
  return seen;
}

/** If a failed call may have registered the webhook, throws {@link UnfinishedError} with the state to keep. */
async function apply(access: Access, found: Found): Promise<{ outs: WebhookState; how: Ensured["how"] }> {
  const { inputs, wanted, run, signal, client, claim } = access;
  const { seen, ours } = found;
  if (!seen || !isInPlace(seen, wanted, ours)) requireKey(inputs);
  const { confirmations } = run;
  const result = await ensure({ client, wanted, seen, ours, confirmations, signal });
  if (result.failure) {
    const partial = result.standing ? toOuts(access, result.standing) : stateOfAttempt(access, found);
    throw partial ? new UnfinishedError(partial, result.failure) : result.failure;
  }
  const { registration, how } = result;
  const adopted = how === "unchanged" && (ours?.applied.adopted ?? ours === undefined);
  const outs = toOuts(access, registration, adopted);
  try {
    if (how !== "unchanged") run.claimBot(outs.botUrl, claim);
  } catch (error) {
    throw error instanceof ApiChatError ? new UnfinishedError(outs, error) : error;
  }
  return { outs, how };
}

const toOuts = ({ inputs, apiKey, claim }: Access, shown: Registration, adopted = false): WebhookState =>
  toWebhookState(inputs, shown, { apiKey, claimId: claim.claimId, adopted });

/** The state of a webhook that may be registered now. Undefined if not even its bot is known. */
function stateOfAttempt(access: Access, { seen, ours }: Found): WebhookState | undefined {
  const { inputs, claim } = access;
  if (ours) return withAttempt(ours, inputs, claim.claimId);
  if (seen === undefined || seen.botUrl === "") return undefined;
  return toOuts(access, { ...inputs, botUrl: seen.botUrl, status: "" });
}

/**
 * Leaves the webhook in place if it is someone else's (and warns), if the program still declares it, or if
 * another state owns it, such as the state of this resource's replacement.
 */
async function deleteWebhook(state: WebhookState, context: OperationContext): Promise<void> {
  const { run } = context;
  const { botUrl, claimId, adopted } = state.applied;
  const name = run.currentNameOf(state);
  const resource = resourceOf({ name }, context);
  // If a create of the same resource follows, it needs this state.
  run.recordState(state, resource);
  const apiKeys = run.apiKeyCandidates(state, resource);
  const workspaces = apiKeys.map((apiKey) => workspaceOf(state.baseUrl, apiKey));
  const printStays = (manager: string): void =>
    printLine(name, `the webhook stays: it is still managed by this program, as "${manager}"`);
  await run.inTurn(workspaces, context, async () => {
    const holder = run.otherHolderOf(botUrl, claimId);
    if (holder) return printStays(holder.name);
    const observed = await observeState(state, apiKeys, context);
    const declarer = (): string | undefined => run.declarerOf(workspaceOf(state.baseUrl, observed.apiKey));
    const mayDelete = (seen: Registration | undefined): boolean =>
      isOursToDelete({ ...observed, seen }, { ...state, name }, declarer() !== undefined);
    if (!mayDelete(observed.seen)) return;
    // Checked after the read, because the program may have declared the workspace in the meantime.
    const manager = declarer();
    if (manager !== undefined) return printStays(manager);
    if (adopted && run.logProblem !== undefined) return warnOfAdopted({ ...state, name }, run.logProblem);
    await remove(observed.client, state.baseUrl, (seen) => mayDelete(seen) && declarer() === undefined);
  });
  run.releaseBot(botUrl, claimId);
}

/**
 * Whether the registration is ours to delete. Throws `conflict` if the API key is not the one last used and does not
 * reach the same bot: it may reach another workspace, and our webhook would stay registered in the previous one. If
 * nothing is registered and the program still declares the workspace, warns instead.
 */
function isOursToDelete({ seen, apiKey }: Observed, state: WebhookState, isDeclared: boolean): boolean {
  const { name, applied } = state;
  const at = formatUrl(state.baseUrl);
  const what = seen ? `the bot ${botCodeOf(seen.botUrl)}` : "nothing registered";
  const isSame = isSameWorkspace(seen, apiKey, state);
  if (!isSame && (seen || !isDeclared)) {
    throw new ApiChatError(
      "conflict",
      `${at} shows ${what}, but it was read with a different API key than the one last used, ` +
        "so it may be another workspace; nothing was deleted",
      { operation: "delete-webhook", facts: { at }, hints: [{ id: "set_api_key_or_forget" }] },
    );
  }
  if (!seen && !isSame) {
    const doubt =
      "this was checked with a different API key than the one last used; " +
      "if that key is for another workspace, the old webhook is still registered in the previous workspace";
    printWarning(name, `${at} has no webhook, but ${doubt}`);
  }
  if (!seen || isOurs(seen, applied)) return seen !== undefined;
  const webhook = `the webhook ${formatUrl(seen.webhookUrl)} of ${what}`;
  printWarning(name, `${at} now has ${webhook}, which is not ours; it was not removed`);
  return false;
}

function warnOfAdopted({ name, baseUrl, applied }: WebhookState, problem: string): void {
  const removal = removalCommand({ baseUrl: formatUrl(baseUrl), webhookUrl: formatUrl(applied.url) });
  printWarning(
    name,
    "the webhook stays: it was adopted, and another provider of this program may manage it; " +
      `this cannot be checked: ${problem}; to remove it, run: ${removal}`,
  );
}
