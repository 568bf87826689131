import type { Dispatcher } from "undici";
import { toNodeListener } from "../../responder/node.js";
import { createResponder, endToEndHeaders } from "../../responder/index.js";
import { startListener, reachesAddress, type Listener } from "../../server/listener.js";
import { connectionCode, createDispatcher, postOnce, PostError } from "../../lib/post.js";
import { formatUrl, toUrlHost } from "../../lib/url.js";
import { UsageError } from "../usage-error.js";
import { watchResponder, type RawRequest, type SeenRequest } from "../../responder/watch.js";
import { KeyedQueue } from "../../lib/keyed-queue.js";

export interface ForwardEvent {
  type: "forward";
  id: number;
  at: string;
  url: string;
  /** Null if there was no response. */
  status: number | null;
  /** Why there was no response; empty if there was one. */
  reason: string;
  durationMs: number;
}

/** What `--json` prints: first where it listens, then each request. */
export type ListenEvent =
  { type: "listening"; at: string; url: string; forwardTo: string | null } | SeenRequest | ForwardEvent;

interface ListeningOptions {
  host: string;
  port: number;
  verificationKey: string;
  forward?: string;
  onEvent: (event: ListenEvent) => void;
}

/** How many conversations are forwarded in parallel. */
const FORWARDS_AT_ONCE = 16;

/**
 * The first event has the URL. `close` lets requests in progress get their response, and abandons forwards.
 * Throws `unavailable`, with a hint, if the address is not available, and a UsageError for a loop.
 */
export async function startListening(
  options: ListeningOptions,
): Promise<{ url: string; close: () => Promise<void> }> {
  const { host, verificationKey, forward, onEvent } = options;
  const ended = new AbortController();
  const dispatcher = createDispatcher({ connections: FORWARDS_AT_ONCE });
  // In order within a conversation.
  const queue = new KeyedQueue();
  const responder = createResponder({ verificationKeys: verificationKey, onDelivery: () => undefined });
  const watched = watchResponder(responder, (seen, raw) => {
    onEvent(seen);
    if (forward === undefined || seen.type !== "delivery" || seen.verdict !== "accepted") return;
    void queue.run(seen.conversation, async () => {
      const target = { url: forward, dispatcher, signal: ended.signal };
      if (!ended.signal.aborted) onEvent(await forwardOnce(seen.id, raw, target));
    });
  });
  const listener = await startListener({ host, port: options.port }, toNodeListener(watched));
  if (forward !== undefined) await rejectLoop(forward, listener);
  const url = `http://${toUrlHost(host)}:${listener.port}/`;
  const forwardTo = forward === undefined ? null : formatUrl(forward);
  onEvent({ type: "listening", at: new Date().toISOString(), url, forwardTo });
  return {
    url,
    close: async () => {
      ended.abort();
      await listener.close();
      await dispatcher.destroy();
    },
  };
}

/** Throws if deliveries would circulate forever. Checked once the port is known. */
async function rejectLoop(forward: string, listener: Listener): Promise<void> {
  if (!reachesAddress(forward, listener)) return;
  await listener.close();
  throw new UsageError(
    `--forward: must be the URL of your own program, got ${formatUrl(forward)}, where this command itself listens; ` +
      "pass a different URL, or a different --port",
  );
}

/** The time limit of the target: long enough for a short stop at a breakpoint. */
const TIME_LIMIT_MS = 60_000;

/** The body of a response is not used; a longer one costs its connection. */
const RESPONSE_LIMIT_BYTES = 64 * 1024;

/** Posts a delivery once, byte for byte, with its end-to-end headers. Does not follow a redirect. Never rejects. */
async function forwardOnce(
  id: number,
  { head, body }: RawRequest,
  { url, dispatcher, signal }: { url: string; dispatcher: Dispatcher; signal: AbortSignal },
): Promise<ForwardEvent> {
  const startMs = performance.now();
  const outcome = await postOnce(new URL(url), {
    headers: endToEndHeaders(head.headers()).flat(),
    body,
    limitBytes: RESPONSE_LIMIT_BYTES,
    timeoutMs: TIME_LIMIT_MS,
    signal,
    dispatcher,
  }).then(
    ({ status }) => ({ status, reason: "" }),
    (error: unknown) => ({ status: null, reason: describePostError(error) }),
  );
  const durationMs = Math.round(performance.now() - startMs);
  return { type: "forward", id, at: new Date().toISOString(), url: formatUrl(url), ...outcome, durationMs };
}

function describePostError(error: unknown): string {
  if (!(error instanceof PostError)) throw error;
  if (error.failure === "aborted") return "ended by Ctrl-C";
  const isRefused = connectionCode(error) === "ECONNREFUSED";
  return error.message + (isRefused ? "; is your program running, and on this port?" : "");
}
