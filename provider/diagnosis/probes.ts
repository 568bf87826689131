import { randomBytes } from "node:crypto";
import { encodeHandshake, performHandshake, type HandshakeRequest } from "./handshake.js";

/** Sends a handshake again with a token that nobody knows. Whether it passes all the same. */
export async function isWrongTokenAnswered(request: HandshakeRequest): Promise<boolean> {
  const { rule } = await performHandshake({ ...request, token: randomBytes(16).toString("hex") });
  return rule === undefined;
}

/** Sends a handshake again, signed as a delivery is (section 5). Whether it passes so. */
export async function isSignedAnswered(request: HandshakeRequest): Promise<boolean> {
  // Loaded here: most diagnoses need no signature.
  const { signBody, SIGNATURE_HEADER } = await import("../responder/signature.js");
  const signature = await signBody(request.token, encodeHandshake(request).body ?? "");
  const { rule } = await performHandshake({ ...request, headers: { [SIGNATURE_HEADER]: signature } });
  return rule === undefined;
}
