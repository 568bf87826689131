import { mayMeanWrongKey, type Registration } from "../client/registration-client.js";
import { ApiChatError } from "../errors/index.js";
import type { WantedWebhook } from "./wanted.js";
import type { WorkspaceClient } from "./workspace.js";

type Reader = Pick<WorkspaceClient, "getWebhook">;

/**
 * Whether a failure may mean that a workspace never had a webhook: HTTP 404. The specification does not define the response in
 * that case.
 */
export const mayMeanNeverSet = (error: unknown): boolean =>
  error instanceof ApiChatError && error.code === "rejected" && error.httpStatus === 404;

/** Reads the registration of a workspace that may never have had a webhook. Undefined without one. */
export const getWebhookIfAny = (client: Reader): Promise<Registration | undefined> =>
  client.getWebhook().catch((error: unknown) => {
    if (mayMeanNeverSet(error)) return undefined;
    throw error;
  });

/**
 * Like {@link getWebhookIfAny}, but with `onExisting: "replace"` an unusable response is treated as if nothing were
 * registered.
 */
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

/** What a workspace shows, and the API key that it accepted. */
export interface Observed {
  seen: Registration | undefined;
  client: WorkspaceClient;
  apiKey: string;
}

/**
 * Reads the registration with the first API key that the service accepts; after a rotation, that is not the recorded one.
 * Throws the refusal of the first key if it accepts none. There must be one.
 */
export async function observe(
  apiKeys: readonly string[],
  open: (apiKey: string) => WorkspaceClient,
): Promise<Observed> {
  let refusal: ApiChatError | undefined;
  for (const apiKey of apiKeys) {
    const client = open(apiKey);
    try {
      return { seen: await client.getWebhook(), client, apiKey };
    } catch (error) {
      if (!(error instanceof ApiChatError) || !mayMeanWrongKey(error)) throw error;
      refusal ??= error.with({ hints: [...error.hints, { id: "rotated_api_key" }] });
    }
  }
  throw refusal ?? new Error("no API key to try");
}
