import { createHmac } from "node:crypto";
import {
  RegistrationClient,
  mayMeanWrongKey,
  type Registration,
  type RegistrationClientOptions,
} from "../client/internal.js";
import { ApiChatError } from "../errors/index.js";
import { printIfSlow } from "../lib/progress.js";
import { canonicalUrl, formatUrl } from "../lib/url.js";
import type { WantedWebhook } from "./wanted.js";

/** An HMAC, so that knowing the base URL is not enough to recognize a workspace. */
export const workspaceOf = (baseUrl: string, apiKey: string): string =>
  createHmac("sha256", apiKey).update(canonicalUrl(baseUrl)).digest("base64url");

export type WorkspaceClient = Pick<RegistrationClient, "getWebhook" | "setWebhook" | "deleteWebhook">;

/** Creates a client for one workspace. It prints what it is waiting for. */
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

type Reader = Pick<WorkspaceClient, "getWebhook">;

/** True for HTTP 404: the specification does not define the response for a workspace that never had a webhook. */
export const mayMeanNeverSet = (error: unknown): boolean =>
  error instanceof ApiChatError && error.code === "rejected" && error.httpStatus === 404;

export const getWebhookIfAny = (client: Reader): Promise<Registration | undefined> =>
  client.getWebhook().catch((error: unknown) => {
    if (mayMeanNeverSet(error)) return undefined;
    throw error;
  });

/** With `onExisting: "replace"`, an unusable response is treated as an empty workspace. */
export async function getWebhookBeforeSet(
  client: Reader,
  { onExisting }: Pick<WantedWebhook, "onExisting">,
): Promise<Registration | undefined> {
  try {
    return await getWebhookIfAny(client);
  } catch (error) {
    if (!(error instanceof ApiChatError) || (error.code !== "rejected" && error.code !== "protocol"))
      throw error;
    if (onExisting === "replace") return undefined;
    throw error.with({
      summary: `${error.summary}. Nothing was written, because it is not known what is registered`,
      hints: [...error.hints, { id: "allow_replace" }],
    });
  }
}

/** The registration of a workspace, read with the API key that the workspace accepted. */
export interface Observed {
  seen: Registration | undefined;
  client: WorkspaceClient;
  apiKey: string;
}

/** Tries each key, because a rotation may have replaced the recorded one. Throws the first rejection. */
export async function observe(
  apiKeys: readonly string[],
  open: (apiKey: string) => WorkspaceClient,
): Promise<Observed> {
  let rejection: ApiChatError | undefined;
  for (const apiKey of apiKeys) {
    const client = open(apiKey);
    try {
      return { seen: await client.getWebhook(), client, apiKey };
    } catch (error) {
      if (!(error instanceof ApiChatError) || !mayMeanWrongKey(error)) throw error;
      rejection ??= error.with({ hints: [...error.hints, { id: "rotated_api_key" }] });
    }
  }
  throw rejection ?? new Error("no API key to try");
}
