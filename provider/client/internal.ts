/** A second entry file, for what is not published. It omits the message client: a resource sends no messages. */
export { isFlowApiKeyAs, presentFlowKey, problemOfBaseUrl } from "./options.js";
export {
  isRetryableRejection,
  mayMeanWrongKey,
  RegistrationClient,
  type Registration,
  type RegistrationClientOptions,
} from "./registration-client.js";
