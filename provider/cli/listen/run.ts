import { toNodeListener } from "../../responder/node.js";
import { endToEndHeaders } from "../../responder/index.js";
import { startListener, type Listener } from "../../server/listener.js";
import { createDispatcher } from "../../lib/post.js";
import { formatUrl, isLoopback, toUrlHost } from "../../lib/url.js";
import { postDelivery, type PostEnd } from "../deliver.js";
import { UsageError } from "../usage-error.js";
import { createReceiver, type ReceivedRequest } from "./receive.js";
import { KeyedQueue } from "../../lib/keyed-queue.js";

export interface ForwardEvent extends PostEnd {
  type: "forward";
  id: number;
  at: string;
  url: string;
}

/** What `--json` prints: first the URL that the command listens on, then each request and each forwarding. */
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

/** How long the target may take: long enough for a short stop at a breakpoint. */
const TIME_LIMIT_MS = 60_000;

/**
 * The first event contains the URL. `close` lets requests in progress get their response, but ends forwarding.
 * Throws `unavailable`, with a hint, if the address is not available, and a UsageError if forwarding would loop.
 */
export async function startListening(
  options: ListeningOptions,
): Promise<{ url: string; close: () => Promise<void> }> {
  const { host, verificationKey, forward, onEvent } = options;
  const ended = new AbortController();
  const dispatcher = createDispatcher({ connections: FORWARDS_AT_ONCE });
  // Keeps the order within a conversation.
  const queue = new KeyedQueue();
  const receiver = createReceiver(verificationKey, (received, raw) => {
    onEvent(received);
    if (forward === undefined || raw === undefined) return;
    const { id, conversation = "" } = received;
    const headers = endToEndHeaders(raw.headers);
    const { signal } = ended;
    const sent = { body: raw.delivery.rawBody, timeoutMs: TIME_LIMIT_MS, dispatcher, signal };
    void queue.run(conversation, async () => {
      if (signal.aborted) return;
      const end = await postDelivery(forward, headers, sent);
      onEvent({ type: "forward", id, at: new Date().toISOString(), url: formatUrl(forward), ...end });
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

/** Throws if deliveries would circulate forever. This can be checked only when the port is known. */
async function rejectLoop(forward: string, listener: Listener): Promise<void> {
  const { hostname, port, protocol } = new URL(forward);
  const isHere = isLoopback(hostname) || hostname === toUrlHost(listener.host);
  if (protocol !== "http:" || Number(port || 80) !== listener.port || !isHere) return;
  await listener.close();
  throw new UsageError(
    `--forward: must be the URL of your own program, got ${formatUrl(forward)}, where this command itself listens; ` +
      "pass a different URL, or a different --port",
  );
}
