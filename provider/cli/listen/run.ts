import type { Dispatcher } from "undici";
import { toNodeListener } from "../../responder/node.js";
import { endToEndHeaders } from "../../responder/index.js";
import { startListener, reachesAddress, type Listener } from "../../server/listener.js";
import { connectionCode, createDispatcher, postOnce, PostError, type PostOptions } from "../../lib/post.js";
import { formatUrl, toUrlHost } from "../../lib/url.js";
import { UsageError } from "../usage-error.js";
import { createReceiver, type ReceivedRequest } from "./receive.js";
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
  { type: "listening"; at: string; url: string; forwardTo: string | null } | ReceivedRequest | ForwardEvent;

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
  const receiver = createReceiver(verificationKey, (received, raw) => {
    onEvent(received);
    if (forward === undefined || raw === undefined) return;
    const { delivery, headers } = raw;
    const sent = { headers: endToEndHeaders(headers).flat(), body: delivery.rawBody };
    void queue.run(received.conversation ?? "", async () => {
      const target = { url: forward, dispatcher, signal: ended.signal };
      if (!ended.signal.aborted) onEvent(await forwardOnce(received.id, sent, target));
    });
  });
  const listener = await startListener({ host, port: options.port }, toNodeListener(receiver));
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

/** Posts a delivery once. Does not follow a redirect. Never rejects. */
async function forwardOnce(
  id: number,
  sent: Pick<PostOptions, "headers" | "body">,
  { url, dispatcher, signal }: { url: string; dispatcher: Dispatcher; signal: AbortSignal },
): Promise<ForwardEvent> {
  const startMs = performance.now();
  const outcome = await postOnce(new URL(url), {
    ...sent,
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
