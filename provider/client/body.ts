import type { Readable } from "node:stream";

/** A body is larger than what its reader takes. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
}

/** Reads a body whole. Throws BodyTooLargeError, and stops reading, past the limit. */
export async function readBody(body: Readable, limitBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    // Leaving the loop destroys the stream, and with it the connection.
    if (length > limitBytes) throw new BodyTooLargeError(`the body is larger than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

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
