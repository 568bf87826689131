import { streamSSE } from "hono/streaming";
import { Refusal } from "../errors.js";
import type { ControlContext } from "./requests.js";
import { subscribeTo, type Viewer } from "./views.js";

/** How much may wait for a client that reads slowly; then its connection is closed, and it begins again. */
const WAITING_BYTES = 8 * 1024 * 1024;

const HEARTBEAT_MS = 15_000;

/** The live stream as server-sent events. It ends with the emulator, or when the client goes or falls behind. */
export function streamEvents(context: ControlContext, viewer: Viewer): Response {
  // hono answers HEAD as GET: the stream would have no reader.
  if (context.req.method === "HEAD") throw new Refusal(405, "takes GET only", { headers: { allow: "GET" } });
  const { closing } = viewer.state.outgoing;
  // Sent at once, not when a proxy's buffer is full.
  context.header("x-accel-buffering", "no");
  return streamSSE(context, async (stream) => {
    const ended = Promise.withResolvers<void>();
    let waitingBytes = 0;
    let count = 0;
    let last = stream.write(": live\n\n") as Promise<unknown>;
    const write = (bytes: number, work: () => Promise<unknown>): void => {
      waitingBytes += bytes;
      last = last.then(work).then(() => (waitingBytes -= bytes));
      if (waitingBytes <= WAITING_BYTES) return;
      context.env.incoming.socket.destroy();
      ended.resolve();
    };
    const unsubscribe = subscribeTo(viewer, (event) => {
      const data = JSON.stringify(event);
      count += 1;
      const message = { id: String(count), event: event.type, data };
      write(data.length, () => stream.writeSSE(message));
    });
    const heartbeat = setInterval(() => write(0, () => stream.write(":\n\n")), HEARTBEAT_MS);
    stream.onAbort(() => ended.resolve());
    closing.addEventListener("abort", () => ended.resolve(), { once: true });
    if (closing.aborted) ended.resolve();
    await ended.promise;
    unsubscribe();
    clearInterval(heartbeat);
  });
}
