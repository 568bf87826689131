import { toNodeListener } from "../../responder/node.js";
import { createResponder } from "../../responder/responder.js";
import { reachesAddress } from "../../server/forward/loops.js";
import { listen, type Listener } from "../../server/listener.js";
import { createDispatcher } from "../../lib/post.js";
import { printUrl } from "../../lib/url.js";
import { UsageError } from "../usage-error.js";
import { createForwarder, type Forward } from "./forward.js";
import type { ListenEvent } from "./seen.js";
import { watchResponder, type Watcher } from "./watch.js";

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
  /** Ends it: what is being answered is answered, what is being forwarded is not waited for. */
  close(): Promise<void>;
}

/** Conversations that are forwarded side by side. */
const FORWARDS_AT_ONCE = 16;

/**
 * Listens. The first event holds the URL. Throws `unavailable` with how to fix it if the address cannot be had, and a
 * UsageError if it would forward to itself.
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
  const watched = watchResponder(responder, tellAndForward(onEvent, forwardNext));
  const listener = await listen({ host, port: options.port }, toNodeListener(watched));
  if (forward !== undefined) await refuseLoop(forward, listener);
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${listener.port}${path ?? "/"}`;
  const forwardTo = forward === undefined ? null : printUrl(forward);
  onEvent({ type: "listening", at: new Date().toISOString(), url, forwardTo });
  return {
    close: async () => {
      ended.abort();
      await listener.close();
      await dispatcher.destroy();
    },
  };
}

/** Each delivery would go round without end. Looked at once the port is known. */
async function refuseLoop(forward: string, listener: Listener): Promise<void> {
  if (!reachesAddress(forward, listener)) return;
  await listener.close();
  throw new UsageError(
    `--forward: must be the URL of your own program, got ${printUrl(forward)}, where this command listens itself; give another URL, or another --port`,
  );
}

function tellAndForward(onEvent: (event: ListenEvent) => void, forward: Forward | undefined): Watcher {
  return (seen, raw) => {
    onEvent(seen);
    if (seen.type === "delivery" && seen.verdict === "accepted") forward?.(seen, raw);
  };
}
