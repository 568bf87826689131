import { request, type Dispatcher } from "undici";
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
}

/** What came of a POST: an answer of any status, or the reason why there was none. */
export type OutgoingResult = HttpReply | { reason: string };

/** Posts to a webhook URL: no redirects, a time limit for all of it, at most 64 KiB of answer. Never throws. */
export async function post(
  { dispatcher, closing }: Outgoing,
  sent: OutgoingRequest,
): Promise<OutgoingResult> {
  const timeout = AbortSignal.timeout(sent.timeoutMs);
  try {
    const response = await request(sent.url, {
      method: "POST",
      headers: sent.headers,
      body: sent.body,
      dispatcher,
      signal: AbortSignal.any([timeout, closing]),
    });
    const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
    return {
      status: response.statusCode,
      headers: Object.fromEntries(headers),
      body: await readAnswer(response.body),
    };
  } catch (error) {
    if (timeout.aborted) return { reason: `no answer within ${sent.timeoutMs} ms` };
    return { reason: `no answer: ${describeCause(error)}` };
  }
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
