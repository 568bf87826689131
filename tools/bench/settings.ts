/** The keys of the service and the endpoint. They open nothing. */
export const API_KEY = "api-key-of-the-benchmark-0123456789abcdef";
export const VERIFICATION_KEY = "verification-key-of-the-benchmark-0123456789";

/** The names of so many workspaces. */
export const workspaceNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `workspace-${String(index + 1).padStart(4, "0")}`);

/** The same webhooks for each side, as programs/webhooks.mjs reads them. */
export const describeWebhooks = (
  count: number,
  { serviceUrl, endpointUrl }: { serviceUrl: string; endpointUrl: string },
  webhookVerificationKey = VERIFICATION_KEY,
): object[] =>
  workspaceNames(count).map((name) => ({
    name,
    baseUrl: `${serviceUrl}/${name}/apichat`,
    apiKey: API_KEY,
    webhookUrl: `${endpointUrl}/webhooks/apichat`,
    webhookVerificationKey,
  }));

/** What a server of servers.ts reports. */
export interface ServerReport {
  url: string;
  /** After a collection, if the process can be told to collect. */
  heapBytes: number;
  /** What its process has computed so far, in milliseconds. */
  cpuMs: number;
}

/** What a server that takes messages and sends replies reports. */
export interface RelayReport {
  /** Where messages go. */
  url: string;
  flowApiKey: string;
}
