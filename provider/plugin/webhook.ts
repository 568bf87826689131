import { fail, UNKNOWN } from "../lib/checks.js";
import { isReportRead, printLine, printWarning, toFailures } from "../lib/provider-process.js";
import { formatUrl } from "../lib/url.js";
import { checkWebhook, diffWebhook } from "../webhook/check.js";
import {
  compactState,
  expandState,
  IMPORTED_KEY,
  secretPathsOf,
  SECRET_INPUTS,
  VERIFIED,
  type StoredState,
  type WebhookInputs,
  type WebhookState,
} from "../webhook/contract.js";
import { createWebhook, deleteWebhook, updateWebhook } from "../webhook/lifecycle.js";
import { importWebhook, readWebhook } from "../webhook/observe.js";
import { previewCreate } from "../webhook/preview.js";
import { isSecretBaseUrl } from "./config.js";
import { leftoverSource, omitNameAndSource, type PluginResource, type ResourceCall } from "./resource.js";
import type { Values } from "./wire.js";

/** `ApiChatWebhook`. */
export const webhook: PluginResource = {
  check: async (call, olds, news) => {
    const { name } = call;
    const isKeyMissing = news["webhookVerificationKey"] === IMPORTED_KEY;
    const given = isKeyMissing ? { ...news, webhookVerificationKey: UNKNOWN } : news;
    const { inputs, problems, warnings } = checkWebhook({ ...given, name }, call);
    for (const { field, text } of warnings) printWarning(name, `${field} ${text}`);
    const failures = toFailures(problems, SECRET_INPUTS);
    if (!isKeyMissing) return { inputs: omitNameAndSource(inputs), failures };
    if (isAsImported(olds, news)) printWarning(name, WRITE_KEY);
    else failures.push(fail(WRITE_KEY));
    return { inputs: omitNameAndSource({ ...inputs, webhookVerificationKey: IMPORTED_KEY }), failures };
  },

  /** A state of the dynamic provider holds its source: update takes it out. */
  diff: async (call, _id, state, news) => {
    const { changed } = diffWebhook(toState(call, state), toInputs(call, news), call);
    return [...changed, ...leftoverSource(state)];
  },

  create: async (call, inputs) => {
    const outs = await createWebhook(toInputs(call, inputs), call);
    return { id: outs.botUrl, outs: toOuts(outs) };
  },

  update: async (call, id, state, news) =>
    toOuts(await updateWebhook(id, toState(call, state), toInputs(call, news), call)),

  read: async (call, id, state) => {
    const seen =
      state === undefined
        ? await importWebhook({ name: call.name, baseUrl: id }, call)
        : await readWebhook(toState(call, state), call);
    return (
      seen && { id: seen.props.botUrl, outs: toOuts(seen.props), inputs: omitNameAndSource(seen.inputs) }
    );
  },

  delete: (call, _id, state) => deleteWebhook(toState(call, state), call),

  previewCreate: async (call, inputs) => {
    // A fleet runs this check itself and counts the conflicts: here, the first one would end the preview of its stack.
    const adopts = isReportRead() ? undefined : await previewCreate(toInputs(call, inputs), call);
    if (adopts) printLine(call.name, `adopts ${formatUrl(adopts.webhookUrl)}, which is registered already`);
    return { ...inputs, status: VERIFIED, botUrl: adopts?.botUrl ?? UNKNOWN };
  },

  previewUpdate: async (_call, _id, state, news) => ({ ...news, status: VERIFIED, botUrl: state["botUrl"] }),

  secretsIn: (values, given) => {
    const marked = given.flatMap((path) => (path.length === 1 ? path : []));
    return secretPathsOf(values, isSecretBaseUrl(values["baseUrl"]) ? [...marked, "baseUrl"] : marked);
  },
};

const WRITE_KEY =
  "webhookVerificationKey is not known, because an import never copies a key from the service: set it to the registered key before you change anything else";

/**
 * An import leaves {@link IMPORTED_KEY} for the key. It passes while the webhook does not change, because nothing is
 * set then.
 */
const isAsImported = (olds: Values, news: Values): boolean =>
  ["webhookVerificationKey", "webhookUrl"].every((name) => olds[name] === news[name]);

const toInputs = ({ name }: ResourceCall, inputs: Values): WebhookInputs =>
  ({ ...inputs, name }) as unknown as WebhookInputs;

const toState = ({ name }: ResourceCall, state: Values): WebhookState =>
  expandState({ ...state, name } as unknown as StoredState);

const toOuts = (state: WebhookState): object => omitNameAndSource(compactState(state));
