/**
 * The inputs of the resources, by the class of the npm package, in the order of the documentation. `url`:
 * secret if it has a query, which may hold a token. The schema of the resource plugin is generated from this,
 * so nothing is imported here.
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

/** The names of the inputs of a kind. */
const namesOf = (inputs: Record<string, string>, kind: "secret" | "url"): string[] =>
  Object.keys(inputs).filter((name) => inputs[name] === kind);

/** The inputs that are secret if they have a query. */
export const URL_INPUTS = namesOf(INPUTS.ApiChatWebhook, "url");

/** The properties that are always secret, in and out. */
export const SECRET_PROPERTIES = {
  ApiChatWebhook: namesOf(INPUTS.ApiChatWebhook, "secret"),
  VerificationKey: [...namesOf(INPUTS.VerificationKey, "secret"), "current", "keys"],
  HandshakeResponder: ["verificationKeys", "derivedFrom"],
};
