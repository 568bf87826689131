/** The default maximum size of a body: 1 MiB, in bytes. The specification defines no limit (section 8). */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/** Why the body cannot be read: it is over the limit, the connection broke, or something else has already read it. */
export type BodyFailure = "body_too_large" | "body_incomplete" | "body_consumed";

/** A request before its body is read. */
export interface RequestHead {
  /** The HTTP method, such as "POST". */
  method: string;
  /** The request's target: an absolute URL, or path and query. */
  url: string;
  /** The value of a header; `name` is in lower case. Repeated values are joined with ", ". */
  header(name: string): string | undefined;
  /**
   * The name and value of every header, including repeated ones: in the original order and case if the runtime
   * keeps them.
   */
  headers(): Iterable<readonly [name: string, value: string]>;
}

/** A request in the form that adapters pass to a responder, the same for every runtime. */
export interface IncomingRequest extends RequestHead {
  /** Reads the raw body, or says why there is none. Called at most once. */
  readBody(limitBytes: number): Uint8Array | BodyFailure | Promise<Uint8Array | BodyFailure>;
}

export function pathOf(url: string): string {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "").replace(/[?#].*$/s, "");
  return path.startsWith("/") ? path : `/${path}`;
}

export const queryOf = (url: string): string => /\?([^#]*)/.exec(url)?.[1] ?? "";

/** Keeps the instance alive until the promise settles, even after the response. */
export type WaitUntil = (promise: Promise<unknown>) => void;

export function fromRequest(request: Request): IncomingRequest {
  return {
    method: request.method,
    url: request.url,
    header: (name) => request.headers.get(name) ?? undefined,
    headers: () => request.headers.entries(),
    readBody: (limitBytes) => readBody(request, limitBytes),
  };
}

/** Finds `waitUntil` in the arguments that a runtime passes after the request: on Workers, the last one has it. */
export function findWaitUntil(runtime: readonly unknown[]): WaitUntil | undefined {
  const context = runtime.findLast(
    (one): one is { waitUntil: WaitUntil } =>
      typeof one === "object" && one !== null && "waitUntil" in one && typeof one.waitUntil === "function",
  );
  return context && ((promise) => context.waitUntil(promise));
}

async function readBody(request: Request, limitBytes: number): Promise<Uint8Array | BodyFailure> {
  if (request.bodyUsed || request.body?.locked === true) return "body_consumed";
  if (Number(request.headers.get("content-length")) > limitBytes) return "body_too_large";
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  try {
    // Leaving the loop cancels the body.
    for await (const chunk of request.body ?? []) {
      length += chunk.byteLength;
      if (length > limitBytes) return "body_too_large";
      chunks.push(chunk);
    }
  } catch {
    // The sender disconnected, so it receives no response. The error says nothing more.
    return "body_incomplete";
  }
  const [first] = chunks;
  return first !== undefined && chunks.length === 1
    ? first
    : new Uint8Array(await new Blob(chunks).arrayBuffer());
}
