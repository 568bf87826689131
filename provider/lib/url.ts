import { kindOf } from "./values.js";

/** Appends an encoded query to the URL's own query, which is unchanged. */
export function appendQuery(url: string, query: string): string {
  const extended = new URL(url);
  extended.search += `${extended.search === "" ? "?" : "&"}${query}`;
  return extended.href;
}

/** Formats a redirect's target like {@link formatUrl}. The target may be relative to `from`, the redirecting URL. */
export const printTarget = (location: string, from: string): string =>
  formatUrl(URL.parse(location, from)?.href ?? "");

/** Shorter values are not redacted, because that would mask unrelated words. */
export const SECRET_CHARACTERS = 8;

export function secretsOfUrl(url: string): string[] {
  const values = URL.parse(url)?.searchParams.values() ?? [];
  return [...values].filter((value) => value.length >= SECRET_CHARACTERS);
}

/** Returns what to redact if a whole URL is secret: the parts that may occur in messages, such as its host. */
export function spellingsOfUrl(text: string): string[] {
  const url = /^https?:/i.test(text) ? URL.parse(text) : null;
  if (url === null) return [];
  const bare = url.origin + url.pathname.replace(/\/+$/, "");
  const spellings = [url.href, formatUrl(url.href), bare, url.origin, url.host];
  // A loopback name reveals nothing.
  const name = isLoopback(url.hostname) ? [] : [url.hostname];
  return [...spellings, ...name, url.pathname].filter((one) => one.length >= SECRET_CHARACTERS);
}

/** Formats a URL as origin and path. User info is dropped, and each query value becomes `***`. */
export function formatUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return "(not a URL)";
  const { origin, protocol, host, pathname, searchParams } = parsed;
  const names = [...new Set(searchParams.keys())].map((name) => `${encodeURIComponent(name)}=***`);
  const base = origin === "null" ? `${protocol}//${host}` : origin;
  return base + pathname + (names.length > 0 ? `?${names.join("&")}` : "");
}

/** For states and previews: hides the query values of a URL that the service returned. */
export const hideQuery = (url: string): string => (url.includes("?") ? formatUrl(url) : url);

/** Whether a URL has a query or is not known yet. */
export const mayHoldQuery = (url: unknown): boolean => typeof url !== "string" || url.includes("?");

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;

/** Returns a host as URLs spell it, for example an IPv6 address in brackets; empty if it is not a host. */
export function toUrlHost(host: string): string {
  const url = `http://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}`;
  return URL.parse(url)?.hostname ?? "";
}

/** Whether a host is a loopback address or the name `localhost`. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(toUrlHost(host));

/**
 * Returns one spelling for all URLs that reach the same resource: host and scheme in lower case, no default port,
 * unreserved characters not percent-encoded, no slash at the end. For comparing only.
 */
export function canonicalUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return url;
  const { origin, pathname, search } = parsed;
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
  const path = URL.parse(botUrl)?.pathname ?? botUrl;
  return path.split("/").findLast((segment) => segment !== "") ?? botUrl;
}

export const isSameUrl = (a: string, b: string): boolean => canonicalUrl(a) === canonicalUrl(b);

export const isSameBot = (a: string, b: string): boolean => botCodeOf(a) === botCodeOf(b);

export function problemOfUrl(value: unknown, example: string): string | undefined {
  const hint = `for example "${example}"`;
  if (typeof value !== "string") return `must be a string, got ${kindOf(value)}; ${hint}`;
  const accepted = acceptedUrl(value);
  if (accepted === undefined) return undefined;
  const isAddress = ADDRESS.test(value) || HOST_NAME.test(value);
  const shown = isAddress ? `"${formatGivenUrl(value)}"` : "text that is not shown, because it may be a key";
  return `must be ${accepted}, got ${shown}; ${hint}`;
}

/** Text that starts like an address. Anything else may be a key in the wrong place, and is not shown. */
const ADDRESS = /^(?:$|[a-z][a-z+.-]*:\/|(?:localhost|[\w-]+(?:\.[\w-]+)+)[:/])/i;
/** A host name alone. A text with digits or capital letters may be a key instead. */
const HOST_NAME = /^[a-z-]+(?:\.[a-z-]{2,})+$/;

function acceptedUrl(value: string): string | undefined {
  const url = URL.parse(value);
  if (!url || !/^https?:\/\//i.test(value)) return "an absolute http or https URL";
  if (/\s/.test(value)) return "a URL without whitespace";
  if (url.username !== "" || url.password !== "") return "a URL without user name and password";
  if (value.includes("#")) return "a URL without fragment";
  return undefined;
}

/** Returns a warning, to print after the field's name, if requests to the URL leave this machine unencrypted. */
export const warningOfUrl = (url: string): string | undefined =>
  isClearText(url) ? "uses http, so keys are sent unencrypted; use https" : undefined;

export function isClearText(url: string): boolean {
  const { protocol, hostname = "" } = URL.parse(url) ?? {};
  return protocol === "http:" && !isLoopback(hostname);
}

/**
 * Formats a URL as given, without the parts that may be secret. Also accepts text that is not a URL. Cuts the text at
 * a character that no URL contains, because another value may follow, such as a key in the same cell of a list.
 */
export function formatGivenUrl(value: unknown): string {
  const given = String(value);
  const [text = ""] = given.split(/[\s\p{Cc}]/u, 1);
  const rest = text === given ? "" : "…";
  if (/^https?:\/\//i.test(text) && URL.parse(text) !== null) return formatUrl(text) + rest;
  const bare = text.replace(/[?#].*$/s, "").replace(/^.*@/s, "***@");
  return bare.length > 100 ? `${bare.slice(0, 100)}…` : bare + rest;
}
