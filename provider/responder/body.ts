/** How large a request body may be by default, in bytes: 1 MiB. The specification names no limit (section 8). */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/** Why there is no raw body: it is over the limit, the connection broke, or something else has read it before. */
export type BodyFailure = "body_too_large" | "body_incomplete" | "body_consumed";

/** Reads the raw body, and stops as soon as it is larger than the limit. */
export async function readBody(request: Request, limitBytes: number): Promise<Uint8Array | BodyFailure> {
  if (request.bodyUsed || request.body?.locked === true) return "body_consumed";
  if (Number(request.headers.get("content-length")) > limitBytes) return "body_too_large";
  if (request.body === null) return new Uint8Array();
  try {
    return await readStream(request.body.getReader(), limitBytes);
  } catch {
    // The sender is gone in the middle: nothing to learn from the error, and nobody to tell it to.
    return "body_incomplete";
  }
}

/** The part of a stream's reader that is used: its full type differs between runtimes. */
interface ChunkReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

async function readStream(reader: ChunkReader, limitBytes: number): Promise<Uint8Array | BodyFailure> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (let chunk = await reader.read(); chunk.value !== undefined; chunk = await reader.read()) {
    length += chunk.value.byteLength;
    if (length > limitBytes) {
      await reader.cancel();
      return "body_too_large";
    }
    chunks.push(chunk.value);
  }
  return joinChunks(chunks, length);
}

function joinChunks(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks;
  if (first !== undefined && chunks.length === 1) return first;
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}
