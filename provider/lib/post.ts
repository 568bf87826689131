import type { IncomingHttpHeaders } from "node:http";
import { Agent, EnvHttpProxyAgent, type Dispatcher } from "undici";
import { MAX_TIMER_MS, NEVER } from "./abort.js";

export interface PostOptions {
  /** Pairs, or alternating names and values. Only what the connection needs is added. */
  headers?: Record<string, string> | string[];
  body?: Dispatcher.DispatchOptions["body"] | undefined;
  /** How much of the response's body is read, in bytes. A longer one is cut there, and its connection is closed. */
  limitBytes: number;
  /** The time from connecting to the end of the response, in milliseconds. Default: no limit. */
  timeoutMs?: number | undefined;
  /** Ends the request immediately, even while connecting. */
  signal?: AbortSignal | undefined;
  /** The connections to use. Default: {@link sharedDispatcher}. */
  dispatcher?: Dispatcher | undefined;
}

export interface AnswerHead {
  status: number;
  headers: IncomingHttpHeaders;
}

export interface Answer extends AnswerHead {
  body: Buffer;
  /** Whether `body` is complete, not cut at the limit. */
  isComplete: boolean;
}

/** How far a POST got. From `sent` on, the other side may have accepted the request. */
export type PostPhase = "connecting" | "sent" | "answering";

/** Why a POST has no complete response: the connection failed, it timed out, or its signal fired. */
export type PostFailure = "connection" | "timeout" | "aborted";

/** A POST without a complete response. The message contains nothing that the other side sent; the cause may. */
export class PostError extends Error {
  override readonly name = "PostError";
  readonly failure: PostFailure;
  readonly phase: PostPhase;
  /** The status and headers of the response, if they arrived. */
  readonly head: AnswerHead | undefined;

  /** The cause is undici's or the system's error, or the signal's reason. */
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
export async function post(
  { origin, pathname, search }: URL,
  { headers = {}, body = null, limitBytes, timeoutMs, signal = NEVER, dispatcher }: PostOptions,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const chunks: Buffer[] = [];
  let readBytes = 0;
  let phase: PostPhase = "connecting";
  let head: AnswerHead | undefined;
  let connection: Dispatcher.DispatchController | undefined;
  let ended: Error | undefined;

  const fail = (failure: PostFailure, message: string, cause?: unknown): void =>
    reject(new PostError(message, { failure, phase, head, cause }));
  const succeed = (isComplete: boolean): void => {
    if (head === undefined) fail("connection", "the answer has no status");
    else resolve({ ...head, body: Buffer.concat(chunks).subarray(0, limitBytes), isComplete });
  };
  /** Ends the request, even before it has a connection. */
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
  // By hand: AbortSignal.timeout and AbortSignal.any together take longer than the rest of a call.
  const timer = timeoutMs === undefined ? undefined : setTimeout(expire, Math.min(timeoutMs, MAX_TIMER_MS));
  signal.addEventListener("abort", abort, { once: true });
  // undici's own `request` returns a stream, which costs more than the rest of the call.
  const handler: Dispatcher.DispatchHandler = {
    /** Called when there is a connection, including TLS, right before the first byte is written to it. */
    onRequestStart: (controller) => {
      connection = controller;
      if (ended) controller.abort(ended);
      else phase = "sent";
    },
    /** Also called for each 1xx before the response. */
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
    onResponseError: (_, error) =>
      fail("connection", `no answer: ${connectionCode(error) || error.name}`, error),
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

/** Returns the system's or undici's code of a connection error. With several addresses it is one level down. */
export function connectionCode(error: unknown): string {
  if (error instanceof PostError) return connectionCode(error.cause);
  if (error instanceof AggregateError && error.errors.length > 0) return connectionCode(error.errors[0]);
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Environment variables that name a proxy. */
const PROXY_VARIABLES = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"];

let shared: Dispatcher | undefined;

/** Returns the connection pool of this process, which uses the environment's proxies. */
export function sharedDispatcher(): Dispatcher {
  return (shared ??= createDispatcher());
}

/** Creates a connection pool that uses the environment's proxies. */
export function createDispatcher(settings: { connections?: number; allowH2?: boolean } = {}): Dispatcher {
  const options = { ...settings, keepAliveTimeout: 30_000 };
  const proxied = PROXY_VARIABLES.some((name) => process.env[name]);
  return proxied ? new EnvHttpProxyAgent(options) : new Agent(options);
}

/** Reads a response of unknown form: JSON, or else its text; undefined if it is empty. */
export function jsonOrText(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
