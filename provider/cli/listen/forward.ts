import { request, type Dispatcher } from "undici";
import { connectionCode } from "../../client/attempt.js";
import { endToEndHeaders } from "../../responder/forwarding.js";
import { printUrl } from "../../lib/url.js";
import type { SeenDelivery, SeenForward } from "./seen.js";
import type { RawRequest } from "./watch.js";

/** How long the target may take: long enough for a short stop at a breakpoint. */
const TIME_LIMIT_MS = 60_000;

export interface ForwarderOptions {
  url: string;
  dispatcher: Dispatcher;
  /** Ends what is under way. */
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
  const lastOf = new Map<string, Promise<void>>();
  const forwardAfter = async (
    before: Promise<void> | undefined,
    id: number,
    raw: RawRequest,
  ): Promise<void> => {
    await before;
    if (!options.signal.aborted) options.onForward(await forwardOnce(id, raw, options));
  };
  return ({ id, conversation }, raw) => {
    const next = forwardAfter(lastOf.get(conversation), id, raw);
    lastOf.set(conversation, next);
    void next.finally(() => {
      if (lastOf.get(conversation) === next) lastOf.delete(conversation);
    });
  };
}

async function forwardOnce(id: number, raw: RawRequest, options: ForwarderOptions): Promise<SeenForward> {
  const startMs = performance.now();
  const outcome = await post(raw, options);
  return {
    type: "forward",
    id,
    at: new Date().toISOString(),
    url: printUrl(options.url),
    ...outcome,
    durationMs: Math.round(performance.now() - startMs),
  };
}

async function post(
  { head, body }: RawRequest,
  { url, dispatcher, signal }: ForwarderOptions,
): Promise<Pick<SeenForward, "status" | "reason">> {
  const limit = AbortSignal.timeout(TIME_LIMIT_MS);
  try {
    const answer = await request(url, {
      method: "POST",
      headers: endToEndHeaders(head.headers()).flat(),
      body,
      dispatcher,
      signal: AbortSignal.any([signal, limit]),
    });
    await answer.body.dump();
    return { status: answer.statusCode, reason: "" };
  } catch (error) {
    return { status: null, reason: describeFailure(error, { signal, limit }) };
  }
}

/** By its code: an error's text may hold what the target sent. */
function describeFailure(
  error: unknown,
  { signal, limit }: { signal: AbortSignal; limit: AbortSignal },
): string {
  if (signal.aborted) return "ended by Ctrl-C";
  if (limit.aborted) return `no answer in ${TIME_LIMIT_MS / 1000} s`;
  const code = connectionCode(error) || (error instanceof Error ? error.name : "unknown error");
  const hint = code === "ECONNREFUSED" ? "; is your program running, and on this port?" : "";
  return `no answer: ${code}${hint}`;
}
