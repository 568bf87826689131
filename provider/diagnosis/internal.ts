/** A second entry file, for exports that are not published. Omits conformance.ts, which no resource needs. */
export { CAUSES, isLasting } from "./causes.js";
export { describeRecord } from "./describe.js";
export {
  diagnoseHandshake,
  MAX_ANSWER_MS,
  type FailedHandshake,
  type HandshakeDiagnosis,
} from "./diagnose.js";
export { causeOfAnswer, causeOfFailure, isFinal, mayBecomeReady } from "./handshake.js";
