import { RegistrationClient } from "../client/internal.js";
import { ApiChatError, type Hint } from "../errors/index.js";
import { botCodeOf, formatUrl, hideQuery, isSameBot } from "../lib/url.js";
import {
  VERIFIED,
  createClient,
  expectedUrl,
  requireSameWorkspace,
  showsOurKey,
} from "../registration/index.js";
import { observeState, withTimeLimit } from "./access.js";
import { resourceOf, type OperationContext } from "./run.js";
import { settingMissing } from "./settings.js";
import {
  DRIFTED_KEY,
  type DriftedProperty,
  IMPORTED_KEY,
  KEY_DRIFTED,
  type WebhookInputs,
  type WebhookState,
  createClaimId,
  inputsOf,
  toWebhookState,
} from "./state.js";

/** A read's result for the engine: an empty one means that the resource is gone. */
type ReadResult = Partial<{ id: string; props: WebhookState; inputs: WebhookInputs }>;

/**
 * Puts what differs at the service into `drift` and into the inputs, so that the next preview shows it. The engine
 * then calls diff, which reports a changed key. Authorization and transport failures never mean "gone".
 */
export async function readWebhook(state: WebhookState, context: OperationContext): Promise<ReadResult> {
  const { run } = context;
  const resource = resourceOf({ name: run.currentNameOf(state) }, context);
  const apiKeys = run.apiKeyCandidates(state, resource);
  const observed = await observeState(state, apiKeys, context);
  requireSameWorkspace(observed, state, { baseUrl: state.baseUrl, operation: "get-webhook" });
  const { seen } = observed;
  if (!seen) return {};
  run.recordState(state, resource);
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
 * Like {@link readWebhook}, for an import or the `get` of an SDK. The ID is the base URL, or the bot URL (a
 * resource's own ID). The key is never read from the service; {@link IMPORTED_KEY} takes its place.
 */
export async function importWebhook(
  { name, id }: { name: string; id: string },
  context: OperationContext,
): Promise<ReadResult> {
  const apiKey = context.run.requireApiKey(undefined);
  // A bot URL does not contain the base URL, so the base URL must be configured.
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
    const summary = `${at} reaches the bot ${bot}, not ${expectedBot} as in the ID`;
    const hints: Hint[] = [{ id: "configure_base_url" }];
    const facts = { at, bot, expectedBot };
    throw new ApiChatError("conflict", summary, { operation: "get-webhook", facts, hints });
  }
  const { webhookUrl } = seen;
  const inputs = { name, baseUrl, webhookUrl, webhookVerificationKey: IMPORTED_KEY, status: VERIFIED };
  const props = toWebhookState(inputs, seen, { apiKey, claimId: createClaimId() });
  return { id: seen.botUrl, props, inputs };
}

/** The form of a bot URL in section 2.1. */
const BOT_URL = /^https?:\/\/[^?#]+\/api\/apichat\/[^/?#]+\/?$/i;

/** The result of `getApiChatWebhook`, without the key and with query values hidden. */
export async function lookUpRegistration(
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
