import type { Readable } from "node:stream";

/** Reads everything that a stream has buffered. From Node 26 on, each `read()` returns only one chunk. */
export function takeText(stream: Readable): string {
  let text = "";
  for (let chunk = takeChunk(stream); chunk !== null; chunk = takeChunk(stream)) text += chunk.toString();
  return text;
}

const takeChunk = (stream: Readable): Buffer | null => stream.read() as Buffer | null;
