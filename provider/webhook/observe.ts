import type { RegistrationAction } from "../../schema/index.js";
import {
  RegistrationClient,
  mayMeanWrongKey,
  type CallOptions,
  type Registration,
  type RegistrationFields,
  type RegistrationClientOptions,
  type SetWebhookOptions,
} from "../client/registration-client.js";
import { ApiChatError, type Hint } from "../errors/index.js";
import { botCodeOf, hideQuery, isSameBot, isSameUrl, formatUrl } from "../lib/url.js";
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
import { apiKeyCandidates, requireApiKey, currentNameOf, resourceOf } from "./run.js";

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
  /** The attempt of the call in progress. */
  #attempt = 1;

  constructor(name: string, options: RegistrationClientOptions) {
    super({ ...options, onRetry: ({ attempt }) => (this.#attempt = attempt + 1) });
    this.#name = name;
    this.#at = formatUrl(options.baseUrl);
  }

  protected override call(
    action: RegistrationAction,
    fields: RegistrationFields,
    options: CallOptions & Partial<SetWebhookOptions>,
  ): Promise<Registration | undefined> {
    this.#attempt = 1;
    const url = fields.webhook_url;
    const what = url === undefined ? `${action} at ${this.#at}` : `${this.#at} to accept ${formatUrl(url)}`;
    const describe = (): string => `waiting for ${what}, attempt ${this.#attempt}`;
    return printIfSlow(this.#name, describe, () => super.call(action, fields, options));
  }
}

type Reader = Pick<RegistrationClient, "getWebhook">;

/**
 * The result of `getApiChatWebhook`: the registration without the key and with query values hidden, or empty strings if
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
 * Reads the registration of a workspace that may never have had a webhook; undefined if there is none. The
 * specification does not define the response in that case, so HTTP 404 counts as none too.
 */
export async function getWebhookIfAny(client: Reader): Promise<Registration | undefined> {
  try {
    return await client.getWebhook();
  } catch (error) {
    const is404 = error instanceof ApiChatError && error.code === "rejected" && error.httpStatus === 404;
    if (!is404) throw error;
    return undefined;
  }
}

/**
 * Like {@link getWebhookIfAny}, but with `onExisting: "replace"` an unusable response is treated as if nothing were
 * registered.
 */
export async function getWebhookBeforeSet(
  client: Reader,
  { onExisting = DEFAULT_ON_EXISTING }: Pick<WebhookInputs, "onExisting">,
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

/** Throws `conflict` if another URL is registered, unless `onExisting` is "replace". */
export function refuseForeign(seen: Registration, inputs: WebhookInputs): void {
  const { baseUrl, webhookUrl, onExisting = DEFAULT_ON_EXISTING } = inputs;
  if (onExisting === "replace" || isSameUrl(seen.webhookUrl, webhookUrl)) return;
  const at = formatUrl(baseUrl);
  const registered = formatUrl(seen.webhookUrl);
  throw new ApiChatError("conflict", `${at} already has a webhook, ${registered}; nothing was written`, {
    operation: "set-webhook",
    facts: { at, registered },
    hints: [removeOther(baseUrl, seen.webhookUrl)],
  });
}

/** The hint for removing someone else's webhook. */
export const removeOther = (baseUrl: string, webhookUrl: string): Hint => ({
  id: "remove_other",
  baseUrl: formatUrl(baseUrl),
  webhookUrl: formatUrl(webhookUrl),
});

export interface Observed {
  seen: Registration | undefined;
  client: RegistrationClient;
  /** The key that the service accepted. */
  apiKey: string;
}

/**
 * Reads the registration with the first API key that the service accepts; after a rotation, that is not the recorded
 * one.
 */
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
 * Throws `conflict` if the current base URL and API key lead to a different workspace than the recorded one. An empty
 * workspace has no bot code, so only an unchanged base URL and API key show that it is the same.
 */
export function requireSameWorkspace(
  { seen, apiKey }: { seen: Registration | undefined; apiKey: string },
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

/**
 * Reads the workspace's registration. Returns undefined if there is none, and the next `up` creates it. A difference is
 * returned as `drift` and in the inputs, so that the next preview shows it; a changed key is reported by diff, which
 * the engine calls right away. Authorization and transport failures are thrown, never returned as undefined.
 */
export async function readWebhook(
  state: WebhookState,
  context: OperationContext = {},
): Promise<{ props: WebhookState; inputs: WebhookInputs } | undefined> {
  const apiKeys = apiKeyCandidates(state, resourceOf({ name: currentNameOf(state) }, context));
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
 * Like {@link readWebhook}, but for an import, which has no state yet. The key is never read from the service;
 * {@link IMPORTED_KEY} takes its place until the program sets it.
 */
export async function importWebhook(
  { name, baseUrl }: Pick<WebhookInputs, "name" | "baseUrl">,
  context: OperationContext = {},
): Promise<{ props: WebhookState; inputs: WebhookInputs } | undefined> {
  const apiKey = requireApiKey(undefined);
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
