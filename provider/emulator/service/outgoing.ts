import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { Agent, type Dispatcher } from "undici";
import { sleep } from "../../lib/abort.js";
import { connectionCode, post as postOnce, PostError, type PostOptions } from "../../lib/post.js";
import { VERSION } from "../../lib/version.js";

/** How the emulator names itself where it plays the service, or a contact's system. */
const EMULATOR_AGENT = `pulumi-apichat-emulator/${VERSION}`;

/** Headers and body of one direction. */
export interface HttpMessage {
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** An HTTP response. */
export interface ReceivedResponse extends HttpMessage {
  status: number;
}

/** What all requests of one emulator to webhook URLs share. */
export interface Outgoing {
  dispatcher: Dispatcher;
  /** Ends every request when the emulator closes. */
  closing: AbortSignal;
}

export interface OutgoingRequest {
  url: string;
  headers: Record<string, string>;
  body: string | Uint8Array;
  timeoutMs: number;
  /** Ends the connection after so many bytes of the body. */
  cutAt?: number;
}

/** What came of a POST: an answer of any status, or the reason why there was none. */
export type OutgoingResult = ReceivedResponse | { reason: string };

/**
 * Long enough for a burst of requests, but shorter than any server keeps an idle connection by default: a connection that the
 * endpoint is closing must not be reused, because an unanswered POST cannot be repeated.
 */
const KEEP_ALIVE_MS = 100;

/** The same where the endpoint says how long it keeps one: undici stays 2 seconds below that. */
const MAX_KEEP_ALIVE_MS = 10_000;

/** The connections of one emulator to webhook URLs. */
export function createDispatcher(): Dispatcher {
  return new Agent({ keepAliveTimeout: KEEP_ALIVE_MS, keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS });
}

const ANSWER_LIMIT_BYTES = 64 * 1024;

/** Posts to a webhook URL: no redirects, a time limit for all of it, at most 64 KiB of answer. Never throws. */
export async function post(
  { dispatcher, closing: signal }: Outgoing,
  sent: OutgoingRequest,
): Promise<OutgoingResult> {
  const { url, timeoutMs } = sent;
  try {
    const options = { ...framePost(sent), timeoutMs, limitBytes: ANSWER_LIMIT_BYTES, signal, dispatcher };
    const { status, headers, body } = await postOnce(new URL(url), options);
    const pairs = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    return {
      status,
      headers: Object.fromEntries(pairs) as ReceivedResponse["headers"],
      body: body.toString("utf8"),
    };
  } catch (error) {
    const isTimeout = error instanceof PostError && error.failure === "timeout";
    return { reason: isTimeout ? describeTimeout(timeoutMs) : `no answer: ${describeCause(error)}` };
  }
}

/** A body that is to break off is announced whole, and ends with an error after its first part. */
function framePost({ headers: given, body, cutAt }: OutgoingRequest): Pick<PostOptions, "headers" | "body"> {
  const headers = { "user-agent": EMULATOR_AGENT, ...given };
  if (cutAt === undefined) return { headers, body };
  const bytes = Buffer.from(body);
  const length = { "content-length": String(bytes.length) };
  return { headers: { ...headers, ...length }, body: Readable.from(breakOff(bytes.subarray(0, cutAt))) };
}

async function* breakOff(part: Buffer): AsyncGenerator<Buffer> {
  yield part;
  // Until the part is on its way: an error right after it would take it back.
  await setImmediate();
  throw new Error("the connection is to end here");
}

export function describeTimeout(timeoutMs: number): string {
  return `no answer within ${timeoutMs} ms`;
}

/** What a status says of the request, or an empty string for 2xx. */
export function describeStatus(status: number): string {
  if (status >= 200 && status < 300) return "";
  return status >= 300 && status < 400
    ? `answered HTTP ${status}: redirects are not followed`
    : `answered HTTP ${status}`;
}

/** The code alone: a message of the network layer may hold the URL with its query. */
function describeCause(error: unknown): string {
  return connectionCode(error) || (error instanceof Error ? error.name : "the request failed");
}

/** Waits this long, or until the signal fires; check the signal to see which. */
export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  if (durationMs <= 0 || signal.aborted) return;
  // It rejects only because of the signal.
  await sleep(durationMs, signal).catch(() => {});
}
