import type { Readable } from "node:stream";

/** Takes what a stream holds. From Node 26 on, each `read()` takes one chunk, and not all. */
export function takeText(stream: Readable): string {
  let text = "";
  for (let chunk = takeChunk(stream); chunk !== null; chunk = takeChunk(stream)) text += chunk.toString();
  return text;
}

const takeChunk = (stream: Readable): Buffer | null => stream.read() as Buffer | null;
