import type { Registration, RegistrationClient } from "../client/registration-client.js";
import { ApiChatError } from "../errors/index.js";
import { printUrl } from "../lib/url.js";
import { mayHaveTakenEffect } from "./register.js";

export interface RemoveOptions {
  client: RegistrationClient;
  baseUrl: string;
  /** Asked with what stands there before each repetition. */
  mayGo: (seen: Registration | undefined) => boolean;
}

/** The answer to delete-webhook is lost: if nothing is registered now, it took effect. */
async function recoverAnswer(client: RegistrationClient, lost: unknown): Promise<undefined> {
  if (!(lost instanceof ApiChatError) || !mayHaveTakenEffect(lost)) throw lost;
  const now = await client.getWebhook().catch((error: unknown) => {
    throw error instanceof ApiChatError ? lost : error;
  });
  if (now !== undefined) throw lost;
}

/** Calls delete-webhook; each repetition looks again first. Throws `protocol` if the service shows that something is left. */
export async function removeRegistration({ client, baseUrl, mayGo }: RemoveOptions): Promise<void> {
  const left = await client
    .deleteWebhook({ beforeRepeat: async () => mayGo(await client.getWebhook()) })
    .catch((error: unknown) => recoverAnswer(client, error));
  if (left === undefined) return;
  throw new ApiChatError(
    "protocol",
    `${printUrl(baseUrl)} still shows ${printUrl(left.webhookUrl)} after delete-webhook`,
    { operation: "delete-webhook", hints: [{ id: "delete_again" }] },
  );
}
