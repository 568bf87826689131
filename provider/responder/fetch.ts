import type { Answer, BodyFailure, IncomingRequest } from "./request.js";

/** A function that a runtime keeps alive work with, after the answer. */
export type WaitUntil = (promise: Promise<unknown>) => void;

/** Converts the web's Request. */
export function fromRequest(request: Request): IncomingRequest {
  return {
    method: request.method,
    url: request.url,
    header: (name) => request.headers.get(name) ?? undefined,
    headers: () => request.headers.entries(),
    readBody: (limitBytes) => readBody(request, limitBytes),
  };
}

/** Converts to the web's Response. */
export function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body === "" ? null : body, { status, headers });
}

/** Finds `waitUntil` in what a runtime passes beside the request: Workers give it in the last argument. */
export function findWaitUntil(runtime: readonly unknown[]): WaitUntil | undefined {
  const context = runtime.findLast(
    (one): one is { waitUntil: WaitUntil } =>
      typeof one === "object" && one !== null && "waitUntil" in one && typeof one.waitUntil === "function",
  );
  return context && ((promise) => context.waitUntil(promise));
}

/** Reads the raw body, and stops as soon as it is larger than the limit. */
async function readBody(request: Request, limitBytes: number): Promise<Uint8Array | BodyFailure> {
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
