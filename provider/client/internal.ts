/** The second door: what is not published, and the registration client alone, because a resource sends no messages. */
export { invalidOptions, isFlowApiKeyAs, presentFlowKey, problemOfBaseUrl } from "./options.js";
export {
  isRetryableRejection,
  mayMeanWrongKey,
  RegistrationClient,
  type Registration,
  type RegistrationClientOptions,
} from "./registration-client.js";
