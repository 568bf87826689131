/** What a program loads: the class. */
export {
  HandshakeResponder,
  type HandshakeResponderArgs,
  type ResponderWorkspaceArgs,
} from "./handshake-responder.js";
