import { subscribeTo } from "./events.js";
import type { EmulatorEvent } from "./shapes.js";
import type { Viewer } from "./workspace-views.js";

/** How much may wait for a client that reads slowly; then its stream is broken off, and it begins anew. */
const WAITING_BYTES = 8 * 1024 * 1024;

const HEARTBEAT_MS = 15_000;

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  // Sent at once, not when a buffer is full.
  "x-accel-buffering": "no",
};

/** The live stream as server-sent events. It ends with the emulator; `breakOff` ends its connection before. */
export function answerEvents(viewer: Viewer, breakOff: () => void): Response {
  let end: (() => void) | undefined;
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        end = feed(viewer, controller, breakOff);
      },
      cancel: () => end?.(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: WAITING_BYTES }),
  );
  return new Response(stream, { headers: HEADERS });
}

/** Writes events until the function that it gives is called, the emulator closes, or the client falls behind. */
function feed(
  viewer: Viewer,
  controller: ReadableStreamDefaultController<Uint8Array>,
  breakOff: () => void,
): () => void {
  const { closing } = viewer.state.outgoing;
  const encoder = new TextEncoder();
  let count = 0;
  const end = (): void => {
    unsubscribe();
    clearInterval(heartbeat);
    closing.removeEventListener("abort", close);
  };
  const write = (text: string): void => {
    controller.enqueue(encoder.encode(text));
    if ((controller.desiredSize ?? 0) > 0) return;
    end();
    breakOff();
  };
  const close = (): void => {
    end();
    controller.close();
  };
  const unsubscribe = subscribeTo(viewer, (event) => {
    count += 1;
    write(format(count, event));
  });
  const heartbeat = setInterval(() => write(":\n\n"), HEARTBEAT_MS);
  closing.addEventListener("abort", close);
  // The headers go out with it.
  write(": live\n\n");
  return end;
}

/** JSON has no line breaks of its own. */
const format = (id: number, event: EmulatorEvent): string =>
  `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
