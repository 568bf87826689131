/** A second entry file: what is not published, and the handshake without the other rules of an endpoint. */
export { CAUSES, isLasting } from "./causes.js";
export { describeRecord } from "./describe.js";
export {
  diagnoseHandshake,
  MAX_ANSWER_MS,
  type FailedHandshake,
  type HandshakeDiagnosis,
} from "./diagnose.js";
export { causeOfAnswer, causeOfFailure, isFinal, mayBecomeReady } from "./handshake.js";
