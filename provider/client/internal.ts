/** A second entry file, for unpublished exports. It omits the message client, which no resource needs. */
export { isFlowApiKeyAs, presentFlowKey, problemOfBaseUrl } from "./options.js";
export {
  isRetryableRejection,
  mayMeanWrongKey,
  RegistrationClient,
  type Registration,
  type RegistrationClientOptions,
} from "./registration-client.js";
