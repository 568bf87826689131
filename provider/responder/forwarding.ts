import { parseRetryAfter } from "../lib/retry.js";

/** The header with the unique ID of a forwarded delivery. Retries keep the same ID. */
export const DELIVERY_ID_HEADER = "x-apichat-delivery-id";

/** Headers that are not forwarded: hop-by-hop ones (RFC 9110, section 7.6.1), and those that the forwarder sets. */
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
  // The forwarder sets this header; a sender's value is dropped.
  DELIVERY_ID_HEADER,
]);

/**
 * Returns the headers to forward with a body, in the order received, including repeated ones. Removes hop-by-hop
 * headers and those that `Connection` lists.
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

/** What the response to a forwarded delivery means. */
export type ForwardVerdict =
  | {
      /** `done`: the target accepted it. `refused`: the target rejected it for good. `retry`: send again. */
      kind: "done";
    }
  | { kind: "refused" }
  | {
      kind: "retry";
      /** Wait at least this long, in seconds; 0 if the target does not say. */
      retryAfterSeconds: number;
    };

/** Statuses with which the target rejects the delivery itself. After any other failure, a later attempt may succeed. */
const REJECTIONS = new Set([400, 413, 415, 422, 431]);

/** Judges the response to a forwarded delivery by the response's status and `Retry-After`. */
export function judgeForward(status: number, retryAfter?: string | null): ForwardVerdict {
  if (status >= 200 && status <= 299) return { kind: "done" };
  if (REJECTIONS.has(status)) return { kind: "refused" };
  const retryAfterMs = parseRetryAfter(retryAfter) ?? 0;
  return { kind: "retry", retryAfterSeconds: Math.ceil(retryAfterMs / 1000) };
}
