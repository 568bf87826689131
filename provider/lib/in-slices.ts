import { setImmediate } from "node:timers/promises";

/** How long work may keep the event loop from other work, in milliseconds. */
const SLICE_MS = 20;

/** Yields the items. Lets other work have its turn before the first one, and whenever using them has taken a slice. */
export async function* inSlices<T>(items: Iterable<T>): AsyncGenerator<T> {
  let endMs = 0;
  for (const item of items) {
    if (performance.now() >= endMs) {
      await setImmediate();
      endMs = performance.now() + SLICE_MS;
    }
    yield item;
  }
}
