import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Registration } from "../client/registration-client.js";
import { ApiChatError, removalCommand } from "../errors/index.js";
import { UNKNOWN } from "../lib/checks.js";
import { hideQuery, isSameUrl, printUrl } from "../lib/url.js";
import { printLine } from "../resource/process.js";
import {
  COMPARED_INPUT_NAMES,
  KEY_DRIFTED,
  VERIFIED,
  inputsOf,
  isKeyDrifted,
  type DriftedProperty,
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
} from "./observe.js";
import { UnconfirmedError, register, registerIfNeeded, rememberBefore } from "./register.js";
import { apiKeyFor, claimBot, defaultApiKey, isHandedOver } from "./run.js";
import {
  DRIFTED_KEY,
  UnfinishedError,
  expectedUrl,
  isLastApiKey,
  isOurUrl,
  isOurs,
  showsOurKey,
  toState,
} from "./state.js";

/**
 * Registers the webhook, or adopts a registration of the same URL: of an earlier run whose answer was lost, or of an import.
 * Another URL is a conflict unless `onExisting` is "replace".
 */
export async function createWebhook(inputs: WebhookInputs): Promise<{ id: string; outs: WebhookState }> {
  const { name } = inputs;
  const apiKey = apiKeyFor(inputs.apiKey);
  const client = createClient(inputs, apiKey);
  const claimId = randomBytes(6).toString("base64url");
  const seen = await observeBeforeSet(client, inputs);
  if (seen && seen.botUrl !== "") claimBot(seen.botUrl, { name, claimId });
  if (seen && !isHandedOver(seen)) refuseForeign(seen, inputs);
  try {
    const { registration, wasSet } = await registerIfNeeded({ inputs, client, seen });
    const outs = toState(inputs, registration, { apiKey, claimId });
    claimBot(outs.botUrl, { name, claimId });
    printWhatWasThere(seen, inputs, wasSet);
    return { id: outs.botUrl, outs };
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
): Promise<{ outs: WebhookState }> {
  const { claimId } = state.applied;
  const apiKey = apiKeyFor(inputs.apiKey);
  const client = createClient(inputs, apiKey);
  const toOuts = (seen: Registration): WebhookState => toState(inputs, seen, { apiKey, claimId });
  const seen = await client.getWebhook();
  requireSameWorkspace({ seen, apiKey }, state, { baseUrl: inputs.baseUrl, operation: "set-webhook" });
  claimBot(state.applied.botUrl, { name: inputs.name, claimId });
  const isTakenOver = seen !== undefined && isForeign(seen, state, inputs);
  if (isTakenOver && inputs.onExisting !== "replace") throw takenOver(seen, state, inputs);
  if (seen && isStillAsWanted(seen, state, inputs)) return { outs: toOuts(seen) };
  try {
    const registration = await register({ inputs, client, before: rememberBefore(seen, state) });
    if (isTakenOver) printReplaced(inputs.name, seen);
    return { outs: toOuts(registration) };
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

export interface ReadResult {
  id: string;
  props: WebhookState;
  inputs: WebhookInputs;
}

/**
 * Reads what is registered at the workspace. If nothing is: undefined, and the next `up` creates it. A difference is returned
 * as `drift`, and in the inputs too, so that the next preview names it; a changed key is named by diff, which the engine calls
 * at once. Failures of authority and transport are thrown, never undefined.
 */
export async function readWebhook(state: WebhookState): Promise<ReadResult | undefined> {
  const observed = await observe(state);
  requireSameWorkspace(observed, state, { baseUrl: state.baseUrl, operation: "get-webhook" });
  const { seen } = observed;
  if (!seen) return undefined;
  const { drift: _, ...rest } = state;
  const isOurUrlShown = seen.webhookUrl === expectedUrl(state.applied);
  const shown = {
    webhookUrl: isOurUrlShown ? state.applied.url : hideQuery(seen.webhookUrl),
    status: seen.status,
    botUrl: seen.botUrl,
  };
  const hasOurKey = showsOurKey(seen, state);
  const drift = findDrift(shown, { ...state.applied, hasOurKey });
  const props: WebhookState = { ...rest, ...shown, ...(drift.length === 0 ? {} : { drift }) };
  const inputs = { ...inputsOf(props), ...(hasOurKey ? {} : { webhookVerificationKey: KEY_DRIFTED }) };
  return { id: seen.botUrl, props, inputs };
}

function findDrift(
  shown: Pick<WebhookState, "webhookUrl" | "status" | "botUrl">,
  { url, botUrl, hasOurKey }: { url: string; botUrl: string; hasOurKey: boolean },
): DriftedProperty[] {
  const compare = (property: keyof typeof shown, expected: string): DriftedProperty[] => {
    const actual = shown[property];
    if (expected === actual) return [];
    return [{ property, expected: hideQuery(expected), actual: hideQuery(actual) }];
  };
  return [
    ...compare("webhookUrl", url),
    ...(hasOurKey ? [] : [DRIFTED_KEY]),
    ...compare("status", VERIFIED),
    ...compare("botUrl", botUrl),
  ];
}

export interface DiffResult {
  changes: boolean;
  replaces: string[];
  deleteBeforeReplace: boolean;
}

/**
 * Whether update has something to do. Nothing ever replaces: one changed variable would delete every production
 * webhook. A secret that changes is named in a line of its own, because a preview does not mark it. A new name, given by an
 * alias, is recorded, so that a destroy names the resource that the program knows.
 */
export function diffWebhook(state: WebhookState, inputs: WebhookInputs): DiffResult {
  const { name } = inputs;
  claimBot(state.applied.botUrl, { name, claimId: state.applied.claimId });
  const changed = COMPARED_INPUT_NAMES.filter((one) => !isDeepStrictEqual(state[one], inputs[one]));
  for (const property of ["webhookUrl", "baseUrl"] as const) {
    if (changed.includes(property)) printHiddenUrl(name, property, [state[property], inputs[property]]);
  }
  if (changed.includes("webhookVerificationKey")) printLine(name, "webhookVerificationKey changes");
  if (isKeyDrifted(state)) printLine(name, describeDriftedKey(state, inputs));
  const hasNewApiKey = isNewApiKey(state, inputs);
  if (changed.includes("apiKey")) printLine(name, "apiKey changes");
  else if (hasNewApiKey) printLine(name, "the API key is not the one last used; pulumi up tries it");
  const isUnfinished =
    state.status !== VERIFIED || isKeyDrifted(state) || state.applied.attempted !== undefined;
  const hasMovedBot = state.botUrl !== state.applied.botUrl;
  return {
    changes: changed.length > 0 || hasNewApiKey || isUnfinished || hasMovedBot,
    replaces: [],
    deleteBeforeReplace: true,
  };
}

/** A key from the environment or the configuration is no input, so it is compared with the one that last reached the workspace. */
function isNewApiKey(state: WebhookState, { apiKey = defaultApiKey() }: WebhookInputs): boolean {
  return apiKey !== undefined && apiKey !== UNKNOWN && !isLastApiKey(apiKey, state);
}

/** The same rule as in update: another URL with another key is somebody else's. */
function describeDriftedKey(state: WebhookState, { webhookUrl, onExisting }: WebhookInputs): string {
  const isOurRegistration =
    isOurUrl(state.webhookUrl, state.applied) || isSameUrl(state.webhookUrl, webhookUrl);
  return isOurRegistration || onExisting === "replace"
    ? "webhookVerificationKey: the service holds another key; pulumi up sets ours again"
    : `the service holds another URL and another key, so somebody else's webhook: pulumi up stops with a conflict. If it may go: ${removalCommand(state)}; then run pulumi up again`;
}

/** A URL with a query is a secret, see webhook.ts; without one the preview itself shows the change. */
function printHiddenUrl(name: string, property: string, urls: readonly [string, string]): void {
  if (!urls.some((url) => url.includes("?"))) return;
  const [from, to] = urls.map((url) => (url === UNKNOWN ? "[unknown]" : printUrl(url)));
  printLine(name, `${property} changes${from === to ? " in its query" : ""}: ${from} => ${to}`);
}
