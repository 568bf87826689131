import { printLine, printWarning } from "../lib/progress.js";
import { fail } from "../pulumi/check-and-diff.js";
import { isReportRead } from "../pulumi/provider-process.js";
import { UNKNOWN } from "../pulumi/unknown.js";
import { VERIFIED } from "../registration/index.js";
import {
  type Foreseen,
  IMPORTED_KEY,
  type OperationContext,
  SECRETS_OF_DRIFT,
  WEBHOOK_SPEC,
  type WebhookInputs,
  type WebhookState,
  importWebhook,
  previewCreate,
  previewUpdate,
  lookUpRegistration,
  requireWebhookState,
  webhookLifecycle,
} from "../webhook/provider.js";
import type { PluginResource, ResourceCall } from "./resource.js";
import type { PropertyValues } from "./wire.js";

export const webhookResource: PluginResource = {
  properties: WEBHOOK_SPEC,

  lifecycle: (call) => {
    const lifecycle = webhookLifecycle(call);
    return {
      ...lifecycle,
      check: async (olds: Partial<WebhookInputs>, news) => {
        if (news["webhookVerificationKey"] !== IMPORTED_KEY) return lifecycle.check(olds, news);
        const checked = await lifecycle.check(olds, { ...news, webhookVerificationKey: UNKNOWN });
        if (isAsImported(olds, news)) printWarning(call.name, WRITE_KEY);
        else checked.failures.push(fail(WRITE_KEY));
        return { ...checked, inputs: { ...checked.inputs, webhookVerificationKey: IMPORTED_KEY } };
      },
      read: (id, state: WebhookState) =>
        Object.keys(state).length === 0
          ? importWebhook({ name: call.name, id }, call)
          : lifecycle.read(id, state),
    };
  },

  async previewCreate(inputs: WebhookInputs, call) {
    // A fleet runs this check itself and counts the conflicts. Here, the first conflict would end the stack's preview.
    const { seen, conflict, line } = isReportRead() ? {} : await previewCreate(inputs, call);
    if (conflict) throw conflict;
    printForeseen(line, call);
    return { ...inputs, status: VERIFIED, botUrl: seen?.botUrl ?? UNKNOWN };
  },

  async previewUpdate(_id, state: WebhookState, news: WebhookInputs, call) {
    if (!isReportRead()) printForeseen(await previewUpdate(requireWebhookState(state), news, call), call);
    return { ...news, status: VERIFIED, botUrl: state.botUrl };
  },

  repeatsIn: (values, given, { secretBaseUrl }) => {
    const isConfigured = secretBaseUrl !== undefined && values["baseUrl"] === secretBaseUrl;
    return [
      ...(isConfigured ? [["baseUrl"]] : []),
      ...(given.some(([name]) => name === "webhookUrl") ? SECRETS_OF_DRIFT : []),
    ];
  },
};

const printForeseen = (line: Foreseen["line"], { name }: ResourceCall): void =>
  line && (line.kind === "warning" ? printWarning : printLine)(name, line.text);

const WRITE_KEY =
  "webhookVerificationKey is not known, because an import never copies a key from the service: " +
  "set it to the registered key before you change anything else";

/** {@link IMPORTED_KEY} is accepted while the URL and the key are unchanged, because set-webhook is not called then. */
const isAsImported = (olds: Partial<WebhookInputs>, news: PropertyValues): boolean =>
  (["webhookVerificationKey", "webhookUrl"] as const).every((name) => olds[name] === news[name]);

/** The function `getApiChatWebhook`. The API key is secret, but the result is not. */
export const invokeGetApiChatWebhook = (
  { baseUrl, apiKey }: PropertyValues,
  { run, signal }: OperationContext,
): Promise<object> =>
  lookUpRegistration(textOf(baseUrl) ?? run.defaultBaseUrl(), textOf(apiKey) ?? run.defaultApiKey(), signal);

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
