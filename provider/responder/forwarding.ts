import { parseRetryAfter } from "../lib/retry.js";

/** The header with the unique ID of a forwarded delivery. Retries keep the same ID. */
export const DELIVERY_ID_HEADER = "x-apichat-delivery-id";

/** Hop-by-hop headers (RFC 9110, section 7.6.1), and headers that are set anew for the next connection. */
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
  // The forwarder sets this ID; an incoming one is not ours.
  DELIVERY_ID_HEADER,
]);

/**
 * Returns the end-to-end headers to forward with a body, in order, including repeated ones. Hop-by-hop headers and
 * those named by `Connection` are removed.
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

/** Judges the response to a forwarded delivery by its status and its header `Retry-After`. */
export function judgeForward(status: number, retryAfter?: string | null): ForwardVerdict {
  if (status >= 200 && status <= 299) return { kind: "done" };
  if (REJECTIONS.has(status)) return { kind: "refused" };
  const retryAfterMs = parseRetryAfter(retryAfter) ?? 0;
  return { kind: "retry", retryAfterSeconds: Math.ceil(retryAfterMs / 1000) };
}
