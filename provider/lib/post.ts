import type { IncomingHttpHeaders } from "node:http";
import { Agent, EnvHttpProxyAgent, type Dispatcher } from "undici";
import { MAX_TIMER_MS, NEVER } from "./abort.js";
import { formatUrl } from "./url.js";

export interface PostOptions {
  /** An object, or a list in which names and values alternate. Only headers that the connection needs are added. */
  headers?: Record<string, string> | string[];
  body?: Dispatcher.DispatchOptions["body"] | undefined;
  /** How much of the response's body is read, in bytes. A longer body is cut there, and the connection is closed. */
  limitBytes: number;
  /** The time from connecting to the end of the response, in milliseconds. Default: no limit. */
  timeoutMs?: number | undefined;
  /** Ends the request immediately, even while connecting. */
  signal?: AbortSignal | undefined;
  /** The connections to use. Default: {@link sharedDispatcher}. */
  dispatcher?: Dispatcher | undefined;
}

export interface ResponseHead {
  status: number;
  headers: IncomingHttpHeaders;
}

export interface PostResponse extends ResponseHead {
  body: Buffer;
  /** Whether `body` is complete, not cut at the limit. */
  isComplete: boolean;
}

/** How far a POST got. From `sent` on, the other side may have accepted the request. */
export type PostPhase = "connecting" | "sent" | "answering";

export type PostFailure = "connection" | "timeout" | "aborted";

/** A POST without a complete response. The message contains nothing that the other side sent; the cause may. */
export class PostError extends Error {
  override readonly name = "PostError";
  readonly failure: PostFailure;
  readonly phase: PostPhase;
  /** The status and headers of the response, if they arrived. */
  readonly head: ResponseHead | undefined;

  constructor(
    message: string,
    { failure, phase, head, cause }: Omit<PostError, keyof Error> & { cause?: unknown },
  ) {
    super(message, { cause });
    this.failure = failure;
    this.phase = phase;
    this.head = head;
  }
}

/**
 * Posts once and returns the response, whatever its status; redirects are not followed. Rejects only with a
 * {@link PostError}.
 *
 * @example
 * const { status, body, isComplete } = await post(url, { body: "{}", limitBytes: 65_536, timeoutMs: 30_000, signal });
 */
export async function postOnce(
  url: URL,
  { headers = {}, body = null, limitBytes, timeoutMs, signal = NEVER, dispatcher }: PostOptions,
): Promise<PostResponse> {
  const { origin, pathname, search } = url;
  const { promise, resolve, reject } = Promise.withResolvers<PostResponse>();
  const chunks: Buffer[] = [];
  let readBytes = 0;
  let phase: PostPhase = "connecting";
  let head: ResponseHead | undefined;
  let connection: Dispatcher.DispatchController | undefined;
  let ended: Error | undefined;

  const fail = (failure: PostFailure, message: string, cause?: unknown): void =>
    reject(new PostError(message, { failure, phase, head, cause }));
  const succeed = (isComplete: boolean): void => {
    if (head === undefined) fail("connection", "the response has no status");
    else resolve({ ...head, body: Buffer.concat(chunks).subarray(0, limitBytes), isComplete });
  };
  const disconnect = (): void => {
    ended = new Error("the exchange has ended");
    connection?.abort(ended);
  };
  const abort = (): void => {
    fail("aborted", "ended before the answer", signal.reason);
    disconnect();
  };
  const expire = (): void => {
    fail("timeout", `no answer within ${Number(timeoutMs) / 1000} s`);
    disconnect();
  };
  // A plain timer: AbortSignal.timeout and AbortSignal.any together take longer than the rest of a call.
  const timer = timeoutMs === undefined ? undefined : setTimeout(expire, Math.min(timeoutMs, MAX_TIMER_MS));
  signal.addEventListener("abort", abort, { once: true });
  // undici's own `request` returns a stream, which costs more than the rest of the call.
  const handler: Dispatcher.DispatchHandler = {
    /** Called after connecting, including TLS, and right before the first byte is written. */
    onRequestStart: (controller) => {
      connection = controller;
      if (ended) controller.abort(ended);
      else phase = "sent";
    },
    /** Also called for each 1xx response before the final one. */
    onResponseStart: (_, status, answered) => {
      if (status < 200) return;
      phase = "answering";
      head = { status, headers: answered };
    },
    onResponseData: (_, chunk) => {
      chunks.push(chunk);
      readBytes += chunk.length;
      if (readBytes <= limitBytes) return;
      succeed(false);
      disconnect();
    },
    onResponseEnd: () => succeed(true),
    onResponseError: (_, error) => {
      const cause = dispatcher === undefined ? blameProxy(error, url) : error;
      fail("connection", `no answer: ${connectionCode(cause) || cause.name}`, cause);
    },
  };
  try {
    const request = { origin, path: pathname + search, method: "POST", headers, body } as const;
    if (signal.aborted) abort();
    else (dispatcher ?? sharedDispatcher()).dispatch(request, handler);
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** Returns a connection error's code. If several addresses failed, it is the code of the first. */
export function connectionCode(error: unknown): string {
  if (error instanceof PostError) return connectionCode(error.cause);
  if (error instanceof AggregateError && error.errors.length > 0) return connectionCode(error.errors[0]);
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** OpenSSL's codes for bytes that are not TLS, such as a plain HTTP response. */
export const NOT_TLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/;

/** OpenSSL's own line: "403D…:error:0A000410:SSL routines:ssl3_read_bytes:reason:file.c:77:". */
const OPENSSL_LINE = /^[\da-f]+:error:[\da-f]+:[^:]*:[^:]*:([^:]+):.*$/is;

/** Advice that Node adds to an error message. It does not help here: the endpoint must be fixed, not this process. */
const RUNTIME_ADVICE = /; if [^;]*try running Node\.js with .*$/is;

export function describeConnectionError(error: unknown): string {
  const code = connectionCode(error);
  if (NOT_TLS.test(code)) return `the server does not speak TLS on this port (${code})`;
  const message = error instanceof Error ? error.message : String(error);
  const words = message.replace(OPENSSL_LINE, "$1").replace(RUNTIME_ADVICE, "");
  return words.includes(code) ? words : `${code} ${words}`;
}

/** The environment variables that may name a proxy, for each protocol of a URL; the first that is set is used. */
const PROXY_VARIABLES = {
  "http:": ["http_proxy", "HTTP_PROXY"],
  "https:": ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"],
} as const;

/** The code of an error that a proxy caused: the proxy rejects the connection, or cannot be reached. */
export const PROXY_FAILED = "ERR_PROXY";

/** If the environment's proxy caused the error, returns one that names the proxy; otherwise, the error itself. */
function blameProxy(error: Error, { protocol, port }: URL): Error {
  const variables = PROXY_VARIABLES[protocol as keyof typeof PROXY_VARIABLES];
  const proxy = URL.parse(variables.map((name) => process.env[name]).find(Boolean) ?? "");
  if (proxy === null) return error;
  const failed = (error instanceof AggregateError ? error.errors[0] : error) as SocketError;
  const isRejection = failed.message.startsWith("Proxy response");
  const isUnreachable =
    failed.hostname === proxy.hostname || (String(failed.port) === proxy.port && proxy.port !== port);
  if (!isRejection && !isUnreachable) return error;
  const message = `the proxy ${formatUrl(proxy.href)} fails: ${failed.message} (${PROXY_FAILED})`;
  return Object.assign(new Error(message, { cause: error }), { code: PROXY_FAILED });
}

/** A connection error of Node: it contains the name that does not resolve, or the port that cannot be reached. */
interface SocketError extends Error {
  hostname?: string;
  port?: number;
}

let shared: Dispatcher | undefined;

function sharedDispatcher(): Dispatcher {
  return (shared ??= createDispatcher());
}

/** Creates a connection pool that uses the environment's proxies. */
export function createDispatcher(settings: { connections?: number; allowH2?: boolean } = {}): Dispatcher {
  const options = { ...settings, keepAliveTimeout: 30_000 };
  const proxied = PROXY_VARIABLES["https:"].some((name) => process.env[name]);
  return proxied ? new EnvHttpProxyAgent(options) : new Agent(options);
}
