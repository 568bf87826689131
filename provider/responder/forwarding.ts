import { parseRetryAfter } from "../lib/retry.js";

/** The header that tells one delivery from another where it is forwarded: it stays the same when it is sent again. */
export const DELIVERY_ID_HEADER = "x-apichat-delivery-id";

/** These belong to one connection and not to the message (RFC 9110, 7.6.1), or are made anew for the next one. */
const HEADERS_OF_ONE_HOP = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  // Who forwards gives the id; one that came in is not ours.
  DELIVERY_ID_HEADER,
]);

/**
 * Gives the headers that go on with a body when it is forwarded, repeated ones too, in their order. What belongs to one
 * connection is left out, and so are the headers that `Connection` names.
 *
 * @example
 * const headers = endToEndHeaders(context.request.headers());
 */
export function endToEndHeaders(headers: Iterable<readonly [string, string]>): [string, string][] {
  const pairs = Array.from(headers, ([name, value]): [string, string] => [name, value]);
  const named = new Set(pairs.flatMap(([name, value]) => (isConnection(name) ? optionsOf(value) : [])));
  return pairs.filter(([name]) => {
    const lowerCase = name.toLowerCase();
    return !HEADERS_OF_ONE_HOP.has(lowerCase) && !named.has(lowerCase);
  });
}

const isConnection = (name: string): boolean => name.toLowerCase() === "connection";

const optionsOf = (value: string): string[] => value.split(",").map((option) => option.trim().toLowerCase());

/** What the answer to a forwarded delivery means. */
export type ForwardVerdict =
  | { kind: "done" }
  /** The target says that this delivery is wrong, and would say so again. */
  | { kind: "refused" }
  /** Send it again, not before so many seconds have passed; 0 if the target names none. */
  | { kind: "retry"; retryAfterSeconds: number };

/** With these the target refuses the delivery itself. Anything else may be fixed: a deployment, a password, a route. */
const REFUSALS = new Set([400, 413, 415, 422, 431]);

/** Judges the answer of the target that a delivery was forwarded to, by its status and its header `Retry-After`. */
export function judgeForward(status: number, retryAfter?: string | null): ForwardVerdict {
  if (status >= 200 && status <= 299) return { kind: "done" };
  if (REFUSALS.has(status)) return { kind: "refused" };
  const retryAfterMs = parseRetryAfter(retryAfter) ?? 0;
  return { kind: "retry", retryAfterSeconds: Math.ceil(retryAfterMs / 1000) };
}
