import type { Dispatcher } from "undici";
import { KeyedQueue } from "../../lib/keyed-queue.js";
import { connectionCode, post, PostError } from "../../lib/post.js";
import { endToEndHeaders } from "../../responder/forwarding.js";
import { printUrl } from "../../lib/url.js";
import type { SeenDelivery, SeenForward } from "./seen.js";
import type { RawRequest } from "./watch.js";

/** How long the target may take: long enough for a short stop at a breakpoint. */
const TIME_LIMIT_MS = 60_000;

/** An answer's body is not used; a longer one costs its connection. */
const ANSWER_LIMIT_BYTES = 64 * 1024;

export interface ForwarderOptions {
  url: string;
  dispatcher: Dispatcher;
  /** Ends what is in progress. */
  signal: AbortSignal;
  onForward: (seen: SeenForward) => void;
}

/** Forwards what was accepted. Never throws. */
export type Forward = (seen: SeenDelivery, raw: RawRequest) => void;

/**
 * Posts each delivery once, byte for byte, with its end-to-end headers: in order within a conversation, conversations side
 * by side. A redirect is not followed.
 */
export function createForwarder(options: ForwarderOptions): Forward {
  const queue = new KeyedQueue();
  return ({ id, conversation }, raw) =>
    void queue.run(conversation, async () => {
      if (!options.signal.aborted) options.onForward(await forwardOnce(id, raw, options));
    });
}

async function forwardOnce(id: number, raw: RawRequest, options: ForwarderOptions): Promise<SeenForward> {
  const startMs = performance.now();
  const outcome = await send(raw, options);
  return {
    type: "forward",
    id,
    at: new Date().toISOString(),
    url: printUrl(options.url),
    ...outcome,
    durationMs: Math.round(performance.now() - startMs),
  };
}

async function send(
  { head, body }: RawRequest,
  { url, dispatcher, signal }: ForwarderOptions,
): Promise<Pick<SeenForward, "status" | "reason">> {
  try {
    const { status } = await post(new URL(url), {
      headers: endToEndHeaders(head.headers()).flat(),
      body,
      limitBytes: ANSWER_LIMIT_BYTES,
      timeoutMs: TIME_LIMIT_MS,
      signal,
      dispatcher,
    });
    return { status, reason: "" };
  } catch (error) {
    if (!(error instanceof PostError)) throw error;
    return { status: null, reason: describeFailure(error) };
  }
}

function describeFailure(error: PostError): string {
  if (error.failure === "aborted") return "ended by Ctrl-C";
  const isRefused = connectionCode(error) === "ECONNREFUSED";
  return error.message + (isRefused ? "; is your program running, and on this port?" : "");
}
