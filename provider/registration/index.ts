export {
  expectedUrl,
  isInPlace,
  isLastApiKey,
  isOurs,
  showsOurKey,
  toApplied,
  type Applied,
  type AppliedBy,
} from "./applied.js";
export { Confirmations } from "./confirm.js";
export { ensure, type Ensured } from "./ensure.js";
export { isSameWorkspace, rejectForeign, rejectTakeover, requireSameWorkspace } from "./foreign.js";
export { remove } from "./remove.js";
export { VERIFIED, type OnExisting, type Preflight, type WantedWebhook } from "./wanted.js";
export {
  createClient,
  getWebhookBeforeSet,
  getWebhookIfAny,
  mayMeanNeverSet,
  observe,
  workspaceOf,
  type Observed,
} from "./workspace.js";
