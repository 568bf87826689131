/** A second entry file, for unpublished exports. It omits conformance.ts, which checks an endpoint's other rules. */
export { CAUSES, isLasting } from "./causes.js";
export { describeRecord } from "./describe.js";
export {
  diagnoseHandshake,
  MAX_ANSWER_MS,
  type FailedHandshake,
  type HandshakeDiagnosis,
} from "./diagnose.js";
export { causeOfAnswer, causeOfFailure, isFinal, mayBecomeReady } from "./handshake.js";
