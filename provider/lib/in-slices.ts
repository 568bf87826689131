import { setImmediate } from "node:timers/promises";

/** How long work may block the event loop, in milliseconds. */
const SLICE_MS = 10;

/** Yields the items. Lets other work run before the first item, and again after each {@link SLICE_MS}. */
export async function* inSlices<T>(items: Iterable<T>): AsyncGenerator<T> {
  await setImmediate();
  let endMs = performance.now() + SLICE_MS;
  for (const item of items) {
    if (performance.now() >= endMs) {
      await setImmediate();
      endMs = performance.now() + SLICE_MS;
    }
    yield item;
  }
}

export const entriesInSlices = <T>(record: Readonly<Record<string, T>>): AsyncGenerator<[string, T]> =>
  inSlices(entriesOf(record));

/** Object.entries would create all entries at once, and so block three times as long as Object.keys. */
function* entriesOf<T>(record: Readonly<Record<string, T>>): Generator<[string, T]> {
  for (const name of Object.keys(record)) yield [name, record[name] as T];
}
