import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { Agent, request, type Dispatcher } from "undici";
import type { HttpReply } from "./records.js";

const maxAnswerBytes = 64 * 1024;

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
export type OutgoingResult = HttpReply | { reason: string };

/**
 * Long enough for the next of many requests, and shorter than any server that says nothing keeps an idle connection: one that
 * the endpoint is closing must not be used, because a POST that got no answer cannot be repeated.
 */
const KEEP_ALIVE_MS = 100;

/** The connections of one emulator to webhook URLs. */
export function createDispatcher(): Dispatcher {
  return new Agent({ keepAliveTimeout: KEEP_ALIVE_MS, keepAliveMaxTimeout: KEEP_ALIVE_MS });
}

/** Posts to a webhook URL: no redirects, a time limit for all of it, at most 64 KiB of answer. Never throws. */
export async function post(outgoing: Outgoing, sent: OutgoingRequest): Promise<OutgoingResult> {
  const limit = startLimit(outgoing.closing, sent.timeoutMs);
  try {
    const response = await request(sent.url, {
      method: "POST",
      ...framePost(sent),
      dispatcher: outgoing.dispatcher,
      signal: limit.signal,
    });
    const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
    return {
      status: response.statusCode,
      headers: Object.fromEntries(headers),
      body: await readAnswer(response.body),
    };
  } catch (error) {
    if (limit.isOver()) return { reason: describeTimeout(sent.timeoutMs) };
    return { reason: `no answer: ${describeCause(error)}` };
  } finally {
    limit.end();
  }
}

interface Limit {
  signal: AbortSignal;
  /** Whether the time is over. */
  isOver(): boolean;
  end(): void;
}

/** As AbortSignal.any and AbortSignal.timeout, in a third of their time. */
function startLimit(closing: AbortSignal, timeoutMs: number): Limit {
  const controller = new AbortController();
  let over = false;
  const abort = (): void => controller.abort();
  const timer = setTimeout(() => {
    over = true;
    abort();
  }, timeoutMs);
  if (closing.aborted) abort();
  closing.addEventListener("abort", abort);
  return {
    signal: controller.signal,
    isOver: () => over,
    end: () => {
      clearTimeout(timer);
      closing.removeEventListener("abort", abort);
    },
  };
}

/** A body that is to break off is announced whole, and ends with an error after its first part. */
function framePost({
  headers,
  body,
  cutAt,
}: OutgoingRequest): Pick<Dispatcher.RequestOptions, "headers" | "body"> {
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

async function readAnswer(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxAnswerBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxAnswerBytes).toString("utf8");
}

/** The code alone: a message of the network layer may hold the URL with its query. */
function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return "the request failed";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
