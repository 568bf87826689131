import { createHmac } from "node:crypto";
import type { Registration } from "../client/internal.js";
import { isSameBot, isSameUrl } from "../lib/url.js";
import { looksMasked } from "../responder/key-rules.js";
import { VERIFIED, type WantedWebhook, hasWantedUrl } from "./wanted.js";

/** What the service returned at the last set-webhook or adoption. `read` never changes it. */
export interface Applied {
  /** The webhook URL as it was sent. */
  url: string;
  /** The bot's address at that time; its last segment is the bot code. */
  botUrl: string;
  /** The URL as the service returns it, if that differs from `url`. */
  echoUrl?: string;
  /** Digest of what the service returns as the key, such as a mask, if that is not the key itself. */
  echoKey?: string;
  /** URLs of unconfirmed set-webhook calls that may have taken effect. A webhook with one of them is also ours. */
  attempted?: string[];
  /** The webhook was already registered, and this resource has written nothing since. */
  adopted?: boolean;
  /** Digest of the API key that reached this workspace. */
  apiKey: string;
  /** Distinguishes this state from others of the same workspace: see webhook/run.ts. */
  claimId: string;
}

export interface Ours {
  baseUrl: string;
  webhookVerificationKey: string;
  applied: Applied;
}

export interface AppliedBy {
  apiKey: string;
  claimId: string;
  adopted?: boolean;
}

export function toApplied(
  { webhookUrl: url, webhookVerificationKey: key }: WantedWebhook,
  { botUrl, webhookUrl: shownUrl, webhookVerificationKey: shownKey }: Registration,
  { apiKey, claimId, adopted }: AppliedBy,
): Applied {
  return {
    url,
    botUrl,
    ...(shownUrl === url ? {} : { echoUrl: shownUrl }),
    ...(shownKey === key ? {} : { echoKey: digest(key, shownKey) }),
    ...(adopted ? { adopted } : {}),
    apiKey: digest(key, apiKey),
    claimId,
  };
}

/** The URL that get-webhook returns while the webhook is still as we set or adopted it. */
export const expectedUrl = (applied: Applied): string => applied.echoUrl ?? applied.url;

export const isOurs = (seen: Registration, applied: Applied): boolean =>
  isSameBot(seen.botUrl, applied.botUrl) &&
  (seen.webhookUrl === expectedUrl(applied) ||
    [applied.url, ...(applied.attempted ?? [])].some((our) => isSameUrl(seen.webhookUrl, our)));

export const showsOurKey = (seen: Registration, { webhookVerificationKey: key, applied }: Ours): boolean =>
  applied.echoKey === undefined
    ? seen.webhookVerificationKey === key
    : digest(key, seen.webhookVerificationKey) === applied.echoKey;

export const isLastApiKey = (apiKey: string, { webhookVerificationKey, applied }: Ours): boolean =>
  digest(webhookVerificationKey, apiKey) === applied.apiKey;

/** An HMAC, so that a value cannot be guessed without the verification key, which is secret in the state. */
const digest = (verificationKey: string, value: string): string =>
  createHmac("sha256", verificationKey).update(value).digest("base64url").slice(0, 12);

/** Whether the wanted webhook is registered. A service may have normalized its URL or masked its key when we set it. */
export function isInPlace(seen: Registration, wanted: WantedWebhook, ours: Ours | undefined): boolean {
  const { webhookUrl, webhookVerificationKey: key } = wanted;
  if (seen.status !== VERIFIED || seen.botUrl === "") return false;
  if (ours === undefined) return hasWantedUrl(seen, wanted) && seen.webhookVerificationKey === key;
  const isAsApplied = webhookUrl === ours.applied.url && seen.webhookUrl === expectedUrl(ours.applied);
  const hasKey =
    seen.webhookVerificationKey === key || (key === ours.webhookVerificationKey && showsOurKey(seen, ours));
  return (isAsApplied || seen.webhookUrl === webhookUrl) && hasKey;
}

/** The registration to restore if set-webhook removes it. The key is undefined if it is masked and not ours. */
export function toRestorable(seen: Registration, ours: Ours | undefined) {
  const { webhookUrl: url, webhookVerificationKey: shown } = seen;
  const isRecorded = ours !== undefined && url === expectedUrl(ours.applied);
  const keys = [shown, ...(isRecorded ? [ours.webhookVerificationKey] : [])];
  return {
    webhookUrl: isRecorded ? ours.applied.url : url,
    webhookVerificationKey: keys.find((key) => key !== "" && !looksMasked(key)),
  };
}
