/**
 * A second entry file, for the provider process and the command line. Programs must not load it, because it
 * loads zod and undici.
 */
export { checkInputs, SECRETS_OF_DRIFT, WEBHOOK_SPEC } from "./inputs.js";
/** @internal Keeps zod's types out of the published declarations. */
export { DEFAULTS } from "./inputs.js";
export { previewCreate, previewUpdate, type Foreseen } from "./foresee.js";
export { webhookLifecycle } from "./lifecycle.js";
export { importWebhook, lookUpRegistration } from "./read.js";
export { openRunLog } from "./run-log.js";
export { Run, type Configuration, type OperationContext } from "./run.js";
export { SETTINGS, warningsOfConfiguration } from "./settings.js";
export {
  IMPORTED_KEY,
  requireWebhookState,
  UnfinishedError,
  type DriftedProperty,
  type WebhookInputs,
  type WebhookState,
} from "./state.js";
