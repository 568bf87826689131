/** A second entry file, for exports that are not published. Omits the message client, which no resource needs. */
export { isFlowApiKeyAs, presentFlowKey, problemOfBaseUrl } from "./options.js";
export {
  isRetryableRejection,
  mayMeanWrongKey,
  RegistrationClient,
  type Registration,
  type RegistrationClientOptions,
} from "./registration-client.js";
