import type { RegistrationAction } from "../../schema/index.js";
import {
  RegistrationClient,
  mayMeanWrongKey,
  type CallOptions,
  type Registration,
  type RegistrationBody,
  type RegistrationClientOptions,
  type SetWebhookOptions,
} from "../client/registration-client.js";
import { ApiChatError, type Hint } from "../errors/index.js";
import { botCodeOf, hideQuery, isSameBot, isSameUrl, printUrl } from "../lib/url.js";
import { printIfSlow } from "../lib/provider-process.js";
import {
  DEFAULT_ON_EXISTING,
  DRIFTED_KEY,
  IMPORTED_KEY,
  KEY_DRIFTED,
  VERIFIED,
  createClaimId,
  expectedUrl,
  inputsOf,
  isLastApiKey,
  settingMissing,
  showsOurKey,
  toState,
  withTimeLimit,
  type DriftedProperty,
  type OperationContext,
  type WebhookInputs,
  type WebhookState,
} from "./contract.js";
import { apiKeyCandidates, apiKeyFor, nameOf, resourceOf } from "./run.js";

type ClientSettings = Pick<WebhookInputs, "name" | "baseUrl" | "timeouts"> &
  Pick<RegistrationClientOptions, "apiKeyAs">;

/** A client for one workspace that prints what it waits for. */
export function createClient(
  settings: ClientSettings,
  apiKey: string,
  { signal }: Pick<OperationContext, "signal"> = {},
): RegistrationClient {
  const { name, baseUrl, timeouts, apiKeyAs } = settings;
  const { requestSeconds } = timeouts ?? {};
  return new AnnouncedClient(name, {
    baseUrl,
    apiKey,
    ...(apiKeyAs === undefined ? {} : { apiKeyAs }),
    ...(requestSeconds === undefined ? {} : { requestSeconds }),
    ...(signal === undefined ? {} : { signal }),
  });
}

class AnnouncedClient extends RegistrationClient {
  readonly #name: string;
  readonly #at: string;
  /** Of the call in progress. */
  #attempt = 1;

  constructor(name: string, options: RegistrationClientOptions) {
    super({ ...options, onRetry: ({ attempt }) => (this.#attempt = attempt + 1) });
    this.#name = name;
    this.#at = printUrl(options.baseUrl);
  }

  protected override call(
    action: RegistrationAction,
    body: RegistrationBody,
    options: CallOptions & Partial<SetWebhookOptions>,
  ): Promise<Registration | undefined> {
    this.#attempt = 1;
    const url = body.webhook_url;
    const what = url === undefined ? `${action} at ${this.#at}` : `${this.#at} to accept ${printUrl(url)}`;
    const describe = (): string => `waiting for ${what}, attempt ${this.#attempt}`;
    return printIfSlow(this.#name, describe, () => super.call(action, body, options));
  }
}

type Reader = Pick<RegistrationClient, "getWebhook">;

/**
 * What `getApiChatWebhook` gives: a registration as the service shows it, less the key and the values of a query. Empty texts if
 * nothing is registered.
 */
export async function readRegistration({
  baseUrl,
  apiKey,
  signal,
}: {
  baseUrl: string | undefined;
  apiKey: string | undefined;
  signal?: AbortSignal;
}): Promise<{ webhookUrl: string; status: string; botUrl: string }> {
  if (baseUrl === undefined) throw settingMissing("baseUrl", "getApiChatWebhook");
  if (apiKey === undefined) throw settingMissing("apiKey", "getApiChatWebhook");
  const seen = await new RegistrationClient({ baseUrl, apiKey, ...(signal && { signal }) }).getWebhook();
  const { webhookUrl, status, botUrl } = seen ?? { webhookUrl: "", status: "", botUrl: "" };
  return { webhookUrl: hideQuery(webhookUrl), status, botUrl };
}

/**
 * What is registered at a workspace that may never have had a webhook; undefined if nothing is. The specification does not
 * show what the service answers then, so HTTP 404 counts as nothing too.
 */
export async function observeFirst(client: Reader): Promise<Registration | undefined> {
  try {
    return await client.getWebhook();
  } catch (error) {
    const is404 = error instanceof ApiChatError && error.code === "rejected" && error.httpStatus === 404;
    if (!is404) throw error;
    return undefined;
  }
}

/** As {@link observeFirst}. Where the service gives no usable answer, `onExisting: "replace"` goes on as if there were nothing. */
export async function observeBeforeSet(
  client: Reader,
  { onExisting = DEFAULT_ON_EXISTING }: Pick<WebhookInputs, "onExisting">,
): Promise<Registration | undefined> {
  try {
    return await observeFirst(client);
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

/** Throws `conflict` if another URL is registered, unless `onExisting` is "replace". */
export function refuseForeign(seen: Registration, inputs: WebhookInputs): void {
  const { baseUrl, webhookUrl, onExisting = DEFAULT_ON_EXISTING } = inputs;
  if (onExisting === "replace" || isSameUrl(seen.webhookUrl, webhookUrl)) return;
  const at = printUrl(baseUrl);
  const registered = printUrl(seen.webhookUrl);
  throw new ApiChatError("conflict", `${at} has a webhook already, ${registered}, and nothing was written`, {
    operation: "set-webhook",
    facts: { at, registered },
    hints: [removeOther(baseUrl, seen.webhookUrl)],
  });
}

/** How to remove somebody else's webhook. */
export const removeOther = (baseUrl: string, webhookUrl: string): Hint => ({
  id: "remove_other",
  baseUrl: printUrl(baseUrl),
  webhookUrl: printUrl(webhookUrl),
});

export interface Observed {
  seen: Registration | undefined;
  client: RegistrationClient;
  /** The key that the service accepted. */
  apiKey: string;
}

/** Reads a resource's workspace with the first API key that the service accepts: after a rotation that is not the recorded one. */
export async function observe(
  state: WebhookState,
  apiKeys: readonly string[],
  context: OperationContext,
): Promise<Observed> {
  const settings = withTimeLimit(state, "requestSeconds", context);
  let refusal: ApiChatError | undefined;
  for (const apiKey of apiKeys) {
    const client = createClient(settings, apiKey, context);
    try {
      return { seen: await client.getWebhook(), client, apiKey };
    } catch (error) {
      if (!(error instanceof ApiChatError) || !mayMeanWrongKey(error)) throw error;
      // The refusal of the first key is the one to report.
      refusal ??= error;
    }
  }
  if (!refusal) throw settingMissing("apiKey");
  throw refusal.with({ hints: [...refusal.hints, { id: "rotated_api_key" }] });
}

/**
 * Throws `conflict` if the address and key of today reach another workspace than the recorded one. An empty workspace shows
 * no bot code: only the API key that was used last tells that it is the same.
 */
export function requireSameWorkspace(
  { seen, apiKey }: { seen: Registration | undefined; apiKey: string },
  state: WebhookState,
  { baseUrl, operation }: { baseUrl: string; operation: "get-webhook" | "set-webhook" },
): void {
  const at = printUrl(baseUrl);
  const expectedBot = botCodeOf(state.applied.botUrl);
  const hints: Hint[] = [{ id: "other_workspace" }];
  if (seen?.botUrl === "") {
    const summary = `${at} shows a webhook without bot_url, so nothing tells whose it is`;
    throw new ApiChatError("protocol", summary, { operation, facts: { at } });
  }
  if (seen && !isSameBot(seen.botUrl, state.applied.botUrl)) {
    const bot = botCodeOf(seen.botUrl);
    const summary = `${at} now reaches the bot ${bot}, not ${expectedBot}: nothing was written`;
    throw new ApiChatError("conflict", summary, { operation, facts: { at, bot, expectedBot }, hints });
  }
  if (!seen && (baseUrl !== state.baseUrl || !isLastApiKey(apiKey, state))) {
    const summary =
      `${at} shows nothing registered, and the address or the API key is another one than the last used: ` +
      `nothing tells whether this is still the workspace of the bot ${expectedBot}, so nothing was written`;
    throw new ApiChatError("conflict", summary, { operation, facts: { at, expectedBot }, hints });
  }
}

/**
 * Reads what is registered at the workspace. If nothing is: undefined, and the next `up` creates it. A difference is returned
 * as `drift`, and in the inputs too, so that the next preview names it; a changed key is named by diff, which the engine calls
 * at once. Failures of authority and transport are thrown, never undefined.
 */
export async function readWebhook(
  state: WebhookState,
  context: OperationContext = {},
): Promise<{ props: WebhookState; inputs: WebhookInputs } | undefined> {
  const apiKeys = apiKeyCandidates(state, resourceOf({ name: nameOf(state) }, context));
  const observed = await observe(state, apiKeys, context);
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
  return { props, inputs };
}

/**
 * As {@link readWebhook}, of a registration that no state knows: an import. The key stays with the service, and
 * {@link IMPORTED_KEY} stands for it until the program gives it.
 */
export async function importWebhook(
  { name, baseUrl }: Pick<WebhookInputs, "name" | "baseUrl">,
  context: OperationContext = {},
): Promise<{ props: WebhookState; inputs: WebhookInputs } | undefined> {
  const apiKey = apiKeyFor(undefined);
  const settings = withTimeLimit({ name, baseUrl }, "requestSeconds", context);
  const seen = await createClient(settings, apiKey, context).getWebhook();
  if (!seen) return undefined;
  const { webhookUrl } = seen;
  const inputs = { name, baseUrl, webhookUrl, webhookVerificationKey: IMPORTED_KEY, status: VERIFIED };
  return { props: toState(inputs, seen, { apiKey, claimId: createClaimId() }), inputs };
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
