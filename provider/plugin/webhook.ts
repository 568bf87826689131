import { fail, UNKNOWN } from "../lib/checks.js";
import { isReportRead, printLine, printWarning } from "../lib/provider-process.js";
import { formatUrl } from "../lib/url.js";
import { checkWebhook, diffWebhook, secretPathsOf } from "../webhook/inputs.js";
import {
  createWebhook,
  deleteWebhook,
  importWebhook,
  previewCreate,
  readRegistration,
  readWebhook,
  updateWebhook,
} from "../webhook/lifecycle.js";
import type { OperationContext } from "../webhook/run.js";
import {
  IMPORTED_KEY,
  requireState,
  VERIFIED,
  type WebhookInputs,
  type WebhookState,
} from "../webhook/state.js";
import type { PluginResource } from "./resource.js";
import type { Values } from "./wire.js";

/** `ApiChatWebhook`. */
export const webhook: PluginResource<WebhookInputs, WebhookState> = {
  check: (call, olds, news) => {
    if (news["webhookVerificationKey"] !== IMPORTED_KEY) return checkWebhook(news, call);
    const { inputs, failures } = checkWebhook({ ...news, webhookVerificationKey: UNKNOWN }, call);
    if (isAsImported(olds, news)) printWarning(call.name, WRITE_KEY);
    else failures.push(fail(WRITE_KEY));
    return { inputs: { ...inputs, webhookVerificationKey: IMPORTED_KEY }, failures };
  },

  diff: async (call, _id, state, news) => diffWebhook(requireState(state), news, call).changed,

  create: async (call, inputs) => {
    const outs = await createWebhook(inputs, call);
    return { id: outs.botUrl, outs };
  },

  update: async (call, id, state, news) => updateWebhook(id, requireState(state), news, call),

  read: async (call, id, state) => {
    const seen = state
      ? await readWebhook(requireState(state), call)
      : await importWebhook({ name: call.name, baseUrl: id }, call);
    return seen && { id: seen.props.botUrl, outs: seen.props, inputs: seen.inputs };
  },

  delete: async (call, _id, state) => deleteWebhook(requireState(state), call),

  previewCreate: async (call, inputs) => {
    // A fleet runs this check itself and counts the conflicts: here, the first one would end the preview of its stack.
    const adopts = isReportRead() ? undefined : await previewCreate(inputs, call);
    if (adopts) printLine(call.name, `adopts ${formatUrl(adopts.webhookUrl)}, which is registered already`);
    return { ...inputs, status: VERIFIED, botUrl: adopts?.botUrl ?? UNKNOWN };
  },

  previewUpdate: async (_call, _id, { botUrl }, news) => ({ ...news, status: VERIFIED, botUrl }),

  secretsIn: ({ secretBaseUrl }, values, given) => {
    const marked = given.flatMap((path) => (path.length === 1 ? path : []));
    const isConfigured = secretBaseUrl !== undefined && values["baseUrl"] === secretBaseUrl;
    return secretPathsOf(values, isConfigured ? [...marked, "baseUrl"] : marked);
  },
};

const WRITE_KEY =
  "webhookVerificationKey is not known, because an import never copies a key from the service: set it to the registered key before you change anything else";

/**
 * An import leaves {@link IMPORTED_KEY} for the key. It passes while the webhook does not change, because nothing is
 * set then.
 */
const isAsImported = (olds: Partial<WebhookInputs>, news: Values): boolean =>
  (["webhookVerificationKey", "webhookUrl"] as const).every((name) => olds[name] === news[name]);

/** The function `getApiChatWebhook`. The API key is secret, but the result is not. */
export const getApiChatWebhook = (
  { baseUrl, apiKey }: Values,
  { run, signal }: OperationContext,
): Promise<object> =>
  readRegistration(textOf(baseUrl) ?? run.defaultBaseUrl(), textOf(apiKey) ?? run.defaultApiKey(), signal);

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
