import "../lib/require-node.js";
export type {
  HandshakeCause,
  HandshakeEncoding,
  HandshakeRule,
  HandshakeStep,
  HandshakeTranscript,
} from "../errors/index.js";
export { checkEndpoint, type CheckEndpointOptions, type EndpointCheck } from "./conformance.js";
export {
  diagnoseHandshake,
  type DiagnoseOptions,
  type FailedHandshake,
  type HandshakeDiagnosis,
  type PassedHandshake,
} from "./diagnose.js";
export type { HandshakeWarning, HandshakeWarningCode } from "./describe.js";
