import { setImmediate } from "node:timers/promises";

/** How long work may keep the event loop from other work, in milliseconds. */
const SLICE_MS = 10;

/** Yields the items. Lets other work run first, and again each time a slice of time has passed. */
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

/** Not Object.entries: that makes all of them at once, which takes three times as long as the keys. */
function* entriesOf<T>(record: Readonly<Record<string, T>>): Generator<[string, T]> {
  for (const name of Object.keys(record)) yield [name, record[name] as T];
}
