import { RegistrationClient, type Registration } from "../../client/registration-client.js";
import type { Surroundings } from "./check.js";
import { findBaseUrl } from "./configuration.js";

/** What is asked once, however many checks want it. */
const asked = new WeakMap<Surroundings, Promise<Registration | undefined>>();

/** What is registered; undefined if nothing is, or if base URL or API key are not known. Rejects as the client does. */
export function readRegistration(surroundings: Surroundings): Promise<Registration | undefined> {
  const before = asked.get(surroundings);
  if (before !== undefined) return before;
  const asking = ask(surroundings);
  asked.set(surroundings, asking);
  return asking;
}

/** The same for a comparison: a failure is told of by the check of the base URL, and by no other. */
export const findRegistration = (surroundings: Surroundings): Promise<Registration | undefined> =>
  readRegistration(surroundings).catch(() => undefined);

async function ask(surroundings: Surroundings): Promise<Registration | undefined> {
  const { credentials, limitMs, signal } = surroundings;
  const baseUrl = await findBaseUrl(surroundings);
  const apiKey = await credentials.findSecret("apiKey");
  if (baseUrl === undefined || apiKey === undefined) return undefined;
  return new RegistrationClient({ baseUrl, apiKey, requestSeconds: limitMs / 1000, signal }).getWebhook();
}
