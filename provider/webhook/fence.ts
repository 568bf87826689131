import { createHmac } from "node:crypto";
import type { Registration } from "../client/registration-client.js";
import type { Applied, WebhookState } from "./inputs.js";

/**
 * One spelling for every way to write a URL that reaches the same resource: host and scheme in lower case, no default
 * port, unreserved characters not percent-encoded, no slash at the end. For comparing only.
 */
export function canonicalUrl(url: string): string {
  if (!URL.canParse(url)) return url;
  const { origin, pathname, search } = new URL(url);
  return origin + decodeUnreserved(pathname).replace(/\/+$/, "") + decodeUnreserved(search);
}

function decodeUnreserved(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (escape) => {
    const char = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(char) ? char : escape.toUpperCase();
  });
}

/** The last path segment of a bot URL, unique to the bot (section 2.1). */
export function botCodeOf(botUrl: string): string {
  const path = URL.canParse(botUrl) ? new URL(botUrl).pathname : botUrl;
  return path.split("/").findLast((segment) => segment !== "") ?? botUrl;
}

export const isSameUrl = (a: string, b: string): boolean => canonicalUrl(a) === canonicalUrl(b);

export const isSameBot = (a: string, b: string): boolean => botCodeOf(a) === botCodeOf(b);

/** The URL that get-webhook shows while nothing has changed since we set or adopted it. */
export const expectedUrl = (applied: Applied): string => applied.echoUrl ?? applied.url;

/** Whether a registration is the one that we last set, tried to set, or adopted: by its URL and its bot. */
export const isOurs = (seen: Registration, applied: Applied): boolean =>
  isOurUrl(seen.webhookUrl, applied) && isSameBot(seen.botUrl, applied.botUrl);

/** Whether a URL is the one that we last set or adopted, or one that we tried to set since. */
export const isOurUrl = (url: string, applied: Applied): boolean =>
  url === expectedUrl(applied) ||
  [applied.url, ...(applied.attempted ?? [])].some((our) => isSameUrl(url, our));

/** Whether the service still shows the key as it did when we last set or adopted it. */
export function showsOurKey(
  seen: Registration,
  { webhookVerificationKey: key, applied }: WebhookState,
): boolean {
  if (applied.echoKey === undefined) return seen.webhookVerificationKey === key;
  return digest(key, seen.webhookVerificationKey) === applied.echoKey;
}

/** Whether this API key is the one that last reached the workspace. */
export function isLastApiKey(
  apiKey: string,
  { webhookVerificationKey: key, applied }: WebhookState,
): boolean {
  return digest(key, apiKey) === applied.apiKey;
}

/** What to remember of a registration that is now as we want it. */
export function rememberApplied(
  seen: Registration,
  wanted: { webhookUrl: string; webhookVerificationKey: string; apiKey: string; since: string },
): Applied {
  const { webhookUrl: url, webhookVerificationKey: key } = wanted;
  return {
    url,
    botUrl: seen.botUrl,
    ...(seen.webhookUrl === url ? {} : { echoUrl: seen.webhookUrl }),
    ...(seen.webhookVerificationKey === key ? {} : { echoKey: digest(key, seen.webhookVerificationKey) }),
    apiKey: digest(key, wanted.apiKey),
    since: wanted.since,
  };
}

/** Keyed with the verification key, which is secret in the state: nobody can try out values against the digest. */
function digest(verificationKey: string, value: string): string {
  return createHmac("sha256", verificationKey).update(value).digest("base64url").slice(0, 12);
}
