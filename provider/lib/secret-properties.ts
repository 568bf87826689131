/**
 * The properties that are always secret, in and out, by the class of the npm package. The schema of the resource plugin is
 * generated from it, so nothing is imported here. A URL with a query is secret too: see `keepQuerySecret`.
 */
export const SECRET_PROPERTIES = {
  ApiChatWebhook: ["webhookVerificationKey", "apiKey"],
  VerificationKey: ["initial", "derivedFrom", "current", "keys"],
  HandshakeResponder: ["verificationKeys", "derivedFrom"],
} as const;
