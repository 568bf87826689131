/** The entry point of Pulumi programs. It must not load the HTTP client, the schemas or the lifecycle. */
import "./lib/require-node.js";
export {
  ApiChatError,
  type ApiChatErrorCode,
  type ApiChatErrorDetails,
  type ApiChatOperation,
  type Facts,
  type Failure,
  type FieldProblem,
  type HandshakeCause,
  type HandshakeEncoding,
  type HandshakeRule,
  type HandshakeStep,
  type HandshakeTranscript,
  type Hint,
} from "./errors/index.js";
export type { OnExisting, Preflight } from "./registration/index.js";
export {
  ApiChatWebhook,
  getApiChatWebhook,
  type ApiChatWebhookArgs,
  type GetApiChatWebhookArgs,
  type GetApiChatWebhookResult,
} from "./webhook/index.js";
export {
  HandshakeResponder,
  type HandshakeResponderArgs,
  type ResponderWorkspaceArgs,
} from "./handshake-responder/index.js";
export { VerificationKey, type VerificationKeyArgs } from "./verification-key/index.js";
