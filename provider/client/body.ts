import type { Readable } from "node:stream";

/** Reads at most so many bytes of a body, and drops the rest. */
export async function readBodyStart(body: Readable, limitBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= limitBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, limitBytes);
}
