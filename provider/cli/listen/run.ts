import type { Dispatcher } from "undici";
import { toNodeListener } from "../../responder/node.js";
import { createResponder } from "../../responder/responder.js";
import { reachesAddress } from "../../server/config.js";
import { listen, type Listener } from "../../server/listener.js";
import { connectionCode, createDispatcher, post, PostError } from "../../lib/post.js";
import { formatUrl } from "../../lib/url.js";
import { UsageError } from "../usage-error.js";
import {
  type ListenEvent,
  type RawRequest,
  type SeenDelivery,
  type SeenForward,
  watchResponder,
} from "./watch.js";
import { KeyedQueue } from "../../lib/keyed-queue.js";
import { endToEndHeaders } from "../../responder/forwarding.js";

export { formatListenEvent } from "./lines.js";

export interface ListeningOptions {
  host: string;
  port: number;
  /** The only path that is answered. Default: every path. */
  path?: string;
  verificationKey: string;
  /** Where to forward what is accepted. */
  forward?: string;
  onEvent: (event: ListenEvent) => void;
}

/** A webhook endpoint that reports everything it receives. */
export interface Listening {
  /** Stops listening. Requests in progress get their response; forwards in progress are abandoned. */
  close(): Promise<void>;
}

/** Conversations that are forwarded side by side. */
const FORWARDS_AT_ONCE = 16;

/**
 * Listens. The first event holds the URL. Throws `unavailable`, with a hint, if the address is not available, and a UsageError if
 * it would forward to itself.
 */
export async function startListening(options: ListeningOptions): Promise<Listening> {
  const { host, path, verificationKey, forward, onEvent } = options;
  const ended = new AbortController();
  const dispatcher = createDispatcher({ connections: FORWARDS_AT_ONCE });
  const forwardNext =
    forward === undefined
      ? undefined
      : createForwarder({ url: forward, dispatcher, signal: ended.signal, onForward: onEvent });
  const responder = createResponder({
    verificationKeys: verificationKey,
    onDelivery: () => undefined,
    ...(path === undefined ? {} : { path }),
  });
  const watched = watchResponder(responder, (seen, raw) => {
    onEvent(seen);
    if (seen.type === "delivery" && seen.verdict === "accepted") forwardNext?.(seen, raw);
  });
  const listener = await listen({ host, port: options.port }, toNodeListener(watched));
  if (forward !== undefined) await refuseLoop(forward, listener);
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${listener.port}${path ?? "/"}`;
  const forwardTo = forward === undefined ? null : formatUrl(forward);
  onEvent({ type: "listening", at: new Date().toISOString(), url, forwardTo });
  return {
    close: async () => {
      ended.abort();
      await listener.close();
      await dispatcher.destroy();
    },
  };
}

/** Each delivery would go round without end. Checked once the port is known. */
async function refuseLoop(forward: string, listener: Listener): Promise<void> {
  if (!reachesAddress(forward, listener)) return;
  await listener.close();
  throw new UsageError(
    `--forward: must be the URL of your own program, got ${formatUrl(forward)}, where this command listens itself; give another URL, or another --port`,
  );
}

/** How long the target may take: long enough for a short stop at a breakpoint. */
const TIME_LIMIT_MS = 60_000;

/** An answer's body is not used; a longer one costs its connection. */
const ANSWER_LIMIT_BYTES = 64 * 1024;

interface ForwarderOptions {
  url: string;
  dispatcher: Dispatcher;
  /** Ends what is in progress. */
  signal: AbortSignal;
  onForward: (seen: SeenForward) => void;
}

/** Forwards what was accepted. Never throws. */
type Forward = (seen: SeenDelivery, raw: RawRequest) => void;

/**
 * Posts each delivery once, byte for byte, with its end-to-end headers: in order within a conversation, conversations side
 * by side. A redirect is not followed.
 */
function createForwarder(options: ForwarderOptions): Forward {
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
    url: formatUrl(options.url),
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
