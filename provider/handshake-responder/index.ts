/** The entry file for programs: it exports only the class. */
export {
  HandshakeResponder,
  type HandshakeResponderArgs,
  type ResponderWorkspaceArgs,
} from "./handshake-responder.js";
