/**
 * Entry point of the engine's provider process, with one export per resource type. The source in
 * provider/lib/resource-class.ts is stored in every state and refers to this module and its exports by name: never
 * rename them.
 */
import "./lib/require-node.js";
import type { RawInputs } from "./lib/checks.js";
import { guardDynamic } from "./lib/dynamic-resource.js";
import { endWithStdin, isProviderOfSdk } from "./lib/provider-process.js";
import { checkWebhook, diffWebhook, DYNAMIC_WEBHOOK } from "./webhook/inputs.js";
import { createWebhook, deleteWebhook, readWebhook, updateWebhook } from "./webhook/lifecycle.js";
import { Run, type Configuration } from "./webhook/run.js";
import { requireState, type WebhookInputs, type WebhookState } from "./webhook/state.js";
import { DYNAMIC_PROCESS } from "./handshake-responder/inputs.js";
import { ResponderLifecycle } from "./handshake-responder/lifecycle.js";
import { DYNAMIC_KEY } from "./verification-key/contract.js";
import * as key from "./verification-key/lifecycle.js";

if (isProviderOfSdk()) endWithStdin();

/** The process of a `HandshakeResponder`. */
export const ResponderProcess = guardDynamic(DYNAMIC_PROCESS, new ResponderLifecycle());

/** A `VerificationKey`. */
export const VerificationKey = guardDynamic(DYNAMIC_KEY, key.VerificationKey);

/** The lifecycle of `ApiChatWebhook` for one run, in the form that the SDK's dynamic provider calls. */
export function createWebhookProvider(run: Run) {
  const lifecycle = {
    check: async (_olds: unknown, news: RawInputs) => checkWebhook(news, { run }),

    diff: async (_id: string, olds: WebhookState, news: WebhookInputs) =>
      diffWebhook(requireState(olds), news, { run }),

    create: async (inputs: WebhookInputs) => {
      const outs = await createWebhook(inputs, { run });
      return { id: outs.botUrl, outs };
    },

    /** An empty result tells the engine that the resource is gone. */
    read: async (_id: string, state: WebhookState) => {
      const seen = await readWebhook(requireState(state), { run });
      return { id: seen?.props.botUrl, props: seen?.props, inputs: seen?.inputs };
    },

    update: async (id: string, olds: WebhookState, news: WebhookInputs) => ({
      outs: await updateWebhook(id, requireState(olds), news, { run }),
    }),

    delete: (_id: string, props: WebhookState) => deleteWebhook(requireState(props), { run }),
  };
  const configure = (configuration: Configuration): void => run.configure(configuration);
  // A read by ID has the inputs alone.
  const nameOf = (props: WebhookState): string => (props.applied ? run.currentNameOf(props) : props.name);
  return { configure, ...guardDynamic({ ...DYNAMIC_WEBHOOK, nameOf }, lifecycle) };
}

export const ApiChatWebhook = createWebhookProvider(new Run());
