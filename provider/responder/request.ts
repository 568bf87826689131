/** How large a request body may be by default, in bytes: 1 MiB. The specification names no limit (section 8). */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/** Why there is no raw body: it is over the limit, the connection broke, or something else has read it before. */
export type BodyFailure = "body_too_large" | "body_incomplete" | "body_consumed";

/** What is known of a request before its body is read. */
export interface RequestHead {
  method: string;
  /** The request's target: an absolute URL, or path and query. */
  url: string;
  /** The value of a header, its name in lower case; the values of a repeated one are joined with ", ". */
  header(name: string): string | undefined;
  /** Name and value of every header, repeated ones too, in the order and the case of the wire where the runtime tells them. */
  headers(): Iterable<readonly [name: string, value: string]>;
}

/** A request as adapters hand it over: no runtime's own object is in it. */
export interface IncomingRequest extends RequestHead {
  /** Reads the raw body, or says why there is none. Called at most once. */
  readBody(limitBytes: number): Uint8Array | BodyFailure | Promise<Uint8Array | BodyFailure>;
}

/** What is to be sent back; an empty body is no body. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The path of a request's target, as it stands on the wire. */
export function pathOf(url: string): string {
  const path = withoutOrigin(url);
  const end = path.search(/[?#]/);
  return end < 0 ? path : path.slice(0, end);
}

/** The query of a request's target, without its question mark; empty if there is none. */
export function queryOf(url: string): string {
  const start = url.indexOf("?");
  if (start < 0) return "";
  const end = url.indexOf("#", start);
  return url.slice(start + 1, end < 0 ? undefined : end);
}

function withoutOrigin(url: string): string {
  if (url.startsWith("/")) return url;
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "");
  return path.startsWith("/") ? path : `/${path}`;
}
