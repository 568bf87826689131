import type { Registration } from "../client/internal.js";
import { ApiChatError } from "../errors/index.js";
import { isInPlace, isOurs } from "./applied.js";
import { Confirmations, confirmUntilVerified } from "./confirm.js";
import { tryHandshake } from "./try-handshake.js";
import { settle, type SetRequest, type SetResult, type Uncertain } from "./settle.js";
import { VERIFIED, type WantedWebhook, hasWantedUrl, readySecondsOf, showsWanted } from "./wanted.js";

export interface EnsureOptions extends SetRequest {
  /** What is known about the service from other webhooks. Default: nothing. */
  confirmations?: Confirmations;
  /** See `PreflightOptions`. */
  rejectedRounds?: number | undefined;
}

export interface Ensured {
  registration: Registration;
  /**
   * `unchanged`: nothing was written. `registered`: there was no webhook. `updated`: our webhook, or one
   * with the same URL, was set again. `replaced`: there was a different one.
   */
  how: "unchanged" | "registered" | "updated" | "replaced";
  failure?: never;
}

/**
 * Registers the wanted webhook within `readySeconds`. Does nothing if it is already registered; otherwise
 * tries the handshake, repeats set-webhook while the service rejects the endpoint, and confirms the result. After
 * a failure, restores the previous registration if it was lost. Throws an ApiChatError if the wanted webhook is
 * certainly not registered.
 */
export async function ensure(options: EnsureOptions): Promise<Ensured | Uncertain> {
  const { wanted, seen, ours, rejectedRounds, signal } = options;
  if (seen && isInPlace(seen, wanted, ours)) return { registration: seen, how: "unchanged" };
  const deadline = performance.now() + readySecondsOf(wanted) * 1000;
  const isNewKey = ours !== undefined && ours.webhookVerificationKey !== wanted.webhookVerificationKey;
  // If this run has changed the key, rejections are not limited: the endpoint may need time to load the new one.
  await tryHandshake(wanted, { deadline, rejectedRounds: isNewKey ? Infinity : rejectedRounds, signal });
  const result = await setAndConfirm(options, deadline);
  if (result.failure) return result;
  if (seen === undefined) return { ...result, how: "registered" };
  const isKept = hasWantedUrl(seen, wanted) || (ours !== undefined && isOurs(seen, ours.applied));
  return { ...result, how: isKept ? "updated" : "replaced" };
}

async function setAndConfirm(options: EnsureOptions, deadline: number): Promise<SetResult> {
  const { client, wanted, confirmations = new Confirmations() } = options;
  const confirm = (shown: Registration | undefined): Promise<SetResult> =>
    confirmUntilVerified(options, shown, deadline);
  let shown: Registration | undefined;
  try {
    shown = await client.setWebhook({ ...wanted, retryRejectedUntil: deadline });
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    const settled = await settle(options, error);
    const isDone = settled.failure || isComplete(settled.registration, wanted);
    return isDone ? settled : confirm(settled.registration);
  }
  if (shown === undefined || !isComplete(shown, wanted)) return confirm(shown);
  return confirmations.confirmOnce(new URL(wanted.baseUrl).origin, shown, () => confirm(shown));
}

/** Whether a response is the full configuration (section 3): our URL, the status `verified`, and a bot URL. */
const isComplete = (shown: Registration, wanted: WantedWebhook): boolean =>
  showsWanted(shown, wanted) && shown.status === VERIFIED;
