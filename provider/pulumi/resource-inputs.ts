/**
 * The inputs and their kinds, in the order of the documentation. `url`: secret if it has a query, which may hold a
 * token. The resource plugin's schema is generated from this file, so it must import nothing.
 */
export const INPUTS = {
  ApiChatWebhook: {
    webhookUrl: "url",
    webhookVerificationKey: "secret",
    baseUrl: "url",
    apiKey: "secret",
    onExisting: "plain",
    preflight: "plain",
    timeouts: "plain",
  },
  VerificationKey: {
    rotation: "plain",
    keep: "plain",
    bytes: "plain",
    initial: "secret",
    derivedFrom: "secret",
    subject: "plain",
    rotations: "plain",
  },
} as const satisfies Record<string, Record<string, "plain" | "secret" | "url">>;

const namesOf = (inputs: Record<string, string>, kind: "secret" | "url"): string[] =>
  Object.keys(inputs).filter((name) => inputs[name] === kind);

export const URL_INPUTS = namesOf(INPUTS.ApiChatWebhook, "url");

/** The properties that are always secret, both inputs and outputs. */
export const SECRET_PROPERTIES = {
  ApiChatWebhook: namesOf(INPUTS.ApiChatWebhook, "secret"),
  VerificationKey: [...namesOf(INPUTS.VerificationKey, "secret"), "current", "keys"],
  HandshakeResponder: ["verificationKeys", "derivedFrom"],
};
