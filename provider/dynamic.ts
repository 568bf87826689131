/**
 * Entry point of the engine's provider process, with one export per resource type. The source in
 * provider/lib/resource-class.ts is stored in every state and refers to this module and its exports by name: never
 * rename them.
 */
import "./lib/require-node.js";
import type { RawInputs } from "./lib/checks.js";
import { guardDynamic } from "./lib/dynamic-resource.js";
import { endWithStdin, isProviderOfSdk, printWarning, report, toFailures } from "./lib/provider-process.js";
import { checkWebhook, diffWebhook } from "./webhook/check.js";
import {
  compactState,
  DYNAMIC_WEBHOOK,
  expandState,
  SECRET_INPUTS,
  type StoredState,
  type WebhookInputs,
} from "./webhook/contract.js";
import { createWebhook, deleteWebhook, updateWebhook } from "./webhook/lifecycle.js";
import { readWebhook } from "./webhook/observe.js";
import { configure, currentNameOf } from "./webhook/run.js";
import { DYNAMIC_PROCESS } from "./handshake-responder/inputs.js";
import * as responder from "./handshake-responder/lifecycle.js";
import { DYNAMIC_KEY } from "./verification-key/contract.js";
import * as key from "./verification-key/lifecycle.js";

if (isProviderOfSdk()) endWithStdin();

/** The process of a `HandshakeResponder`. */
export const ResponderProcess = guardDynamic(DYNAMIC_PROCESS, responder.ResponderProcess);

/** A `VerificationKey`. */
export const VerificationKey = guardDynamic(DYNAMIC_KEY, key.VerificationKey);

/** The lifecycle of `ApiChatWebhook`, in the form that the SDK's dynamic provider calls. */
export const ApiChatWebhook = guardDynamic(DYNAMIC_WEBHOOK, {
  configure,

  check: (_olds: unknown, news: RawInputs) =>
    report(news.name, async () => {
      const { inputs, problems, warnings } = checkWebhook(news);
      for (const { field, text } of warnings) printWarning(news.name, `${field} ${text}`);
      return { inputs, failures: toFailures(problems, SECRET_INPUTS) };
    }),

  diff: (_id: string, olds: StoredState, news: WebhookInputs) =>
    report(news.name, async () => diffWebhook(expandState(olds), news)),

  create: (inputs: WebhookInputs) =>
    report(inputs.name, async () => {
      const outs = await createWebhook(inputs);
      return { id: outs.botUrl, outs: compactState(outs) };
    }),

  /** An empty result tells the engine that the resource is gone. */
  read: (_id: string, props: StoredState) =>
    report(nameInRun(props), async () => {
      const seen = await readWebhook(expandState(props));
      return seen ? { id: seen.props.botUrl, props: compactState(seen.props), inputs: seen.inputs } : {};
    }),

  update: (id: string, olds: StoredState, news: WebhookInputs) =>
    report(news.name, async () => ({ outs: compactState(await updateWebhook(id, expandState(olds), news)) })),

  delete: (_id: string, props: StoredState) =>
    report(nameInRun(props), () => deleteWebhook(expandState(props))),
});

/** A read by id gives the inputs alone. */
const nameInRun = (props: StoredState): string => (props.applied ? currentNameOf(props) : props.name);
