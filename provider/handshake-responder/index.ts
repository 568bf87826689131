/** The entry file for programs: only the class. */
export {
  HandshakeResponder,
  type HandshakeResponderArgs,
  type ResponderWorkspaceArgs,
} from "./handshake-responder.js";
