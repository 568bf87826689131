import type { Registration, RegistrationClient } from "../client/registration-client.js";
import { ApiChatError } from "../errors.js";
import { printUrl } from "../url.js";
import { OF_PROGRAM, type Wording } from "./wording.js";

export interface RemoveOptions {
  client: RegistrationClient;
  baseUrl: string;
  /** Asked with what stands there before each repetition. */
  mayGo: (seen: Registration | undefined) => boolean;
  wording?: Wording;
}

/** Calls delete-webhook; each repetition looks again first. Throws `protocol` if the service shows that something is left. */
export async function removeRegistration({
  client,
  baseUrl,
  mayGo,
  wording = OF_PROGRAM,
}: RemoveOptions): Promise<void> {
  const left = await client.deleteWebhook({ beforeRepeat: async () => mayGo(await client.getWebhook()) });
  if (left === undefined) return;
  throw new ApiChatError(
    "protocol",
    `${printUrl(baseUrl)} still shows ${printUrl(left.webhookUrl)} after delete-webhook; ${wording.removeAgain}`,
    { operation: "delete-webhook" },
  );
}
