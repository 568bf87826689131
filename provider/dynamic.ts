/**
 * Entry point of the engine's provider process. It exports one provider per resource type, under the type's
 * name. The source in provider/pulumi/class-arguments.ts is stored in every state and refers to this module
 * and its exports by name: never rename them.
 */
import "./lib/require-node.js";
import { guardDynamic, type ResourceSpec } from "./pulumi/dynamic-resource.js";
import { endWithStdin, findEngineAddress, isProviderOfSdk } from "./pulumi/provider-process.js";
import {
  SECRETS_OF_DRIFT,
  WEBHOOK_SPEC,
  webhookLifecycle,
  openRunLog,
  Run,
  type Configuration,
  type WebhookState,
} from "./webhook/provider.js";
import { PROCESS_SPEC, ResponderLifecycle } from "./handshake-responder/provider.js";
import { KEY_SPEC, verificationKeyLifecycle } from "./verification-key/provider.js";

if (isProviderOfSdk()) endWithStdin();

/** The provider that runs the process of a `HandshakeResponder`. */
export const ResponderProcess = guardDynamic(PROCESS_SPEC, new ResponderLifecycle());

/** The provider of the class `VerificationKey`. */
export const VerificationKey = guardDynamic(KEY_SPEC, verificationKeyLifecycle);

const DYNAMIC_WEBHOOK_SPEC: ResourceSpec = {
  ...WEBHOOK_SPEC,
  // The engine marks the program's own secrets as secret again, but not their copies in `drift`.
  secretsIn: (values) => [...WEBHOOK_SPEC.secretsIn(values), ...SECRETS_OF_DRIFT],
};

/** The lifecycle of `ApiChatWebhook` for one run. */
export function createWebhookProvider(run: Run) {
  const configure = (configuration: Configuration): void => run.configure(configuration);
  // A read by ID gets only the inputs, not the state.
  const nameOf = (props: WebhookState): string => (props.applied ? run.currentNameOf(props) : props.name);
  return { configure, ...guardDynamic({ ...DYNAMIC_WEBHOOK_SPEC, nameOf }, webhookLifecycle({ run })) };
}

/** The dynamic provider behind the class `ApiChatWebhook`. */
export const ApiChatWebhook = createWebhookProvider(
  new Run(openRunLog(isProviderOfSdk() ? findEngineAddress() : undefined)),
);
