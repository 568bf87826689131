import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { Dispatcher } from "undici";
import { sleep } from "../../lib/abort.js";
import { connectionCode, postOnce, PostError, type PostOptions } from "../../lib/post.js";

/** The headers and the body of a request or a response. */
export interface HttpMessage {
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** An HTTP response. */
export interface ReceivedResponse extends HttpMessage {
  status: number;
}

/** Shared by all requests that one emulator sends. */
export interface Outgoing {
  dispatcher: Dispatcher;
  userAgent: string;
  /** Ends every request when the emulator closes. */
  closing: AbortSignal;
}

export interface OutgoingRequest {
  url: string;
  headers: Record<string, string>;
  body: string | Uint8Array;
  timeoutMs: number;
  /** Ends the connection after this many bytes of the body. */
  cutAt?: number;
}

/** The result of a POST: a response of any status, or the reason why there is none. */
export type OutgoingResult = ReceivedResponse | { reason: string; error?: unknown };

/** The result if a fault closes the connection. */
export const NO_RESPONSE: OutgoingResult = { reason: "no response: the connection was closed" };

const RESPONSE_LIMIT_BYTES = 64 * 1024;

/** Posts to a URL. Follows no redirects, and reads at most 64 KiB of the response. Never throws. */
export async function post(
  { dispatcher, userAgent, closing: signal }: Outgoing,
  sent: OutgoingRequest,
): Promise<OutgoingResult> {
  const { url, timeoutMs } = sent;
  try {
    const options = { timeoutMs, limitBytes: RESPONSE_LIMIT_BYTES, signal, dispatcher };
    const { status, headers, body } = await postOnce(new URL(url), {
      ...options,
      ...framePost(sent, userAgent),
    });
    return { status, headers: toStrings(headers), body: body.toString("utf8") };
  } catch (error) {
    const isTimeout = error instanceof PostError && error.failure === "timeout";
    return { reason: isTimeout ? describeTimeout(timeoutMs) : `no response: ${describeCause(error)}`, error };
  }
}

export const toStrings = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** A body to be cut is sent with the whole body's `content-length`, and ends with an error at `cutAt`. */
function framePost(
  { headers: given, body, cutAt }: OutgoingRequest,
  userAgent: string,
): Pick<PostOptions, "headers" | "body"> {
  const headers = { "user-agent": userAgent, ...given };
  if (cutAt === undefined) return { headers, body };
  const bytes = Buffer.from(body);
  const length = { "content-length": String(bytes.length) };
  return { headers: { ...headers, ...length }, body: Readable.from(breakOff(bytes.subarray(0, cutAt))) };
}

async function* breakOff(part: Buffer): AsyncGenerator<Buffer> {
  yield part;
  // An error in the same tick would discard the part.
  await setImmediate();
  throw new Error("the connection must end here");
}

export function describeTimeout(timeoutMs: number): string {
  return `no response within ${timeoutMs} ms`;
}

export function describeStatus(status: number): string {
  if (status >= 200 && status < 300) return "";
  return status >= 300 && status < 400
    ? `answered HTTP ${status}: redirects are not followed`
    : `answered HTTP ${status}`;
}

/** Returns only the code, because a message of the network layer may contain the URL with its query. */
function describeCause(error: unknown): string {
  return connectionCode(error) || (error instanceof Error ? error.name : "the request failed");
}

export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  if (durationMs <= 0 || signal.aborted) return;
  // The sleep rejects only if the signal fires: the pause is then over.
  await sleep(durationMs, signal).catch(() => {});
}
