import { createHmac } from "node:crypto";
import { RegistrationClient, type RegistrationClientOptions } from "../client/registration-client.js";
import { printIfSlow } from "../lib/progress.js";
import { canonicalUrl, formatUrl } from "../lib/url.js";
import type { WantedWebhook } from "./wanted.js";

/**
 * Identifies a workspace: an HMAC of its base URL, keyed with the API key, so that knowing the base URL is not enough
 * to recognize it.
 */
export const workspaceOf = (baseUrl: string, apiKey: string): string =>
  createHmac("sha256", apiKey).update(canonicalUrl(baseUrl)).digest("base64url");

/** The calls for one workspace. */
export type WorkspaceClient = Pick<RegistrationClient, "getWebhook" | "setWebhook" | "deleteWebhook">;

/** A client for one workspace that prints what it waits for. */
export function createClient(
  {
    name,
    baseUrl,
    timeouts,
    apiKeyAs,
  }: Pick<WantedWebhook, "name" | "baseUrl" | "timeouts"> & Pick<RegistrationClientOptions, "apiKeyAs">,
  apiKey: string,
  signal?: AbortSignal,
): WorkspaceClient {
  const at = formatUrl(baseUrl);
  let attempt = 1;
  const client = new RegistrationClient({
    baseUrl,
    apiKey,
    apiKeyAs,
    requestSeconds: timeouts?.requestSeconds,
    signal,
    onRetry: (retry) => (attempt = retry.attempt + 1),
  });
  const announce = <T>(what: string, work: () => Promise<T>): Promise<T> => {
    attempt = 1;
    return printIfSlow(name, () => `waiting for ${what}, attempt ${attempt}`, work, signal);
  };
  return {
    getWebhook: (options) => announce(`get-webhook at ${at}`, () => client.getWebhook(options)),
    setWebhook: (options) =>
      announce(`${at} to accept ${formatUrl(options.webhookUrl)}`, () => client.setWebhook(options)),
    deleteWebhook: (options) => announce(`delete-webhook at ${at}`, () => client.deleteWebhook(options)),
  };
}
