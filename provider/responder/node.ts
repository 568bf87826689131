import type { IncomingMessage, ServerResponse } from "node:http";
import type { Answer } from "./answers.js";
import type { BodyFailure, IncomingRequest } from "./request.js";
import type { Responder } from "./responder.js";

/** The maximum total size of the incomplete, unverified bodies that this process keeps, in bytes. */
const UNVERIFIED_BYTES = 64 * 1024 * 1024;

/** The memory that a chunk needs in addition to its content, in bytes. Matters if a body arrives byte by byte. */
const CHUNK_BYTES = 200;

/** The memory of each incomplete body, in bytes. The body that has been idle longest comes first. */
const incomplete = new Map<IncomingMessage, number>();
let unverifiedBytes = 0;

/** Counts a chunk. If the total exceeds the limit, closes the connections whose bodies have been idle longest. */
function keep(req: IncomingMessage, chunk: Uint8Array): void {
  const bytes = CHUNK_BYTES + chunk.length;
  const previous = incomplete.get(req) ?? 0;
  incomplete.delete(req);
  incomplete.set(req, previous + bytes);
  unverifiedBytes += bytes;
  for (const idle of incomplete.keys()) {
    if (unverifiedBytes <= UNVERIFIED_BYTES) return;
    forget(idle);
    idle.destroy();
  }
}

function forget(req: IncomingMessage): void {
  unverifiedBytes -= incomplete.get(req) ?? 0;
  incomplete.delete(req);
}

/** How long to discard the rest of a body after an early response, so that the sender can read that response. */
const LINGER_MS = 2_000;

/** A listener for `http.createServer`, or a handler for Express. */
export type NodeListener = (req: IncomingMessage, res: ServerResponse) => void;

/**
 * Converts a responder to a listener for `http.createServer`, or a handler for Express. If it responds before the
 * whole body has arrived, it closes the connection. All listeners of a process together keep at most 64 MiB of
 * incomplete bodies: beyond that, the connection whose body has been idle longest is closed. If middleware has stored
 * the raw body in `req.rawBody` or `req.body` (as `express.raw` does), it is taken from there. If middleware has parsed
 * the body, the response is 500 and says how to fix that.
 *
 * @example
 * http.createServer(toNodeListener(responder)).listen(8080);
 */
export function toNodeListener(responder: Pick<Responder, "answer">): NodeListener {
  return (req, res) => void answerRequest(responder, req, res);
}

type FrameworkRequest = IncomingMessage & { originalUrl?: string; body?: unknown; rawBody?: unknown };

async function answerRequest(
  responder: Pick<Responder, "answer">,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  try {
    sendAnswer(await responder.answer(fromIncomingMessage(req)), req, res);
  } catch (error) {
    console.error(`apichat responder: failed to respond: ${String(error)}`);
    if (res.headersSent) res.destroy();
    else res.writeHead(500, { connection: "close" }).end();
  }
}

/**
 * Converts the request of Node's HTTP server.
 * @internal
 */
export const fromIncomingMessage = (req: FrameworkRequest): IncomingRequest => ({
  method: req.method ?? "GET",
  // Express removes the mount path of a router from `url`.
  url: req.originalUrl ?? req.url ?? "/",
  header: (name) => {
    const value = req.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  },
  headers: () => pairsOf(req.rawHeaders),
  readBody: (limitBytes) => readBody(req, limitBytes),
});

function* pairsOf(rawHeaders: readonly string[]): Generator<readonly [string, string]> {
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    yield [rawHeaders[index] ?? "", rawHeaders[index + 1] ?? ""];
  }
}

function readBody(
  req: FrameworkRequest,
  limitBytes: number,
): Uint8Array | BodyFailure | Promise<Uint8Array | BodyFailure> {
  const kept = [req.rawBody, req.body].find((bytes) => bytes instanceof Uint8Array);
  if (kept !== undefined) return kept.byteLength > limitBytes ? "body_too_large" : kept;
  // A stream with a text encoding no longer returns bytes.
  if (req.readableDidRead || req.readableEncoding !== null) return "body_consumed";
  // A destroyed request emits no further events.
  if (req.destroyed) return "body_incomplete";
  const expected = Number(req.headers["content-length"]);
  return expected > limitBytes ? "body_too_large" : readStream(req, { limitBytes, expected });
}

/** `expected` is the length that the sender announced; NaN if none. */
function readStream(
  req: IncomingMessage,
  { limitBytes, expected }: { limitBytes: number; expected: number },
): Promise<Uint8Array | BodyFailure> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (body: Uint8Array | BodyFailure): void => {
      forget(req);
      resolve(body);
    };
    const take = (chunk: Buffer): void => {
      chunks.push(chunk);
      length += chunk.length;
      // The body is now complete, so this chunk need not be counted.
      if (length === expected) return;
      if (length <= limitBytes) return keep(req, chunk);
      req.off("data", take).pause();
      settle("body_too_large");
    };
    const end = (): void => settle(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    // Has no effect once the body has ended.
    const abort = (): void => settle("body_incomplete");
    // Not "close", which is emitted after every request: a listener for it costs a tenth of a request's time.
    req.on("data", take).on("end", end).on("aborted", abort).on("error", abort);
  });
}

function sendAnswer({ status, headers, body }: Answer, req: IncomingMessage, res: ServerResponse): void {
  if (res.destroyed) return;
  const length = { "content-length": Buffer.byteLength(body) };
  if (req.complete || !hasBody(req)) {
    if (headers["connection"] === "close") res.setHeader("connection", "close");
    res.writeHead(status, { ...headers, ...length }).end(body);
    return;
  }
  // A sender that disconnects during the response must not end the server.
  res.on("error", () => res.destroy());
  res.setHeader("connection", "close").writeHead(status, { ...headers, ...length });
  // A response to HEAD has no body, and `write` would not send its headers.
  if (req.method === "HEAD") res.flushHeaders();
  else res.write(body, () => req.socket.end());
  discardRest(req, res);
}

/** Whether the request has a body. Node sets `complete` too late for a request without one. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

/** Reads and discards the rest of the body: closing a socket with unread data could lose the response. */
function discardRest(req: IncomingMessage, res: ServerResponse): void {
  const timer = setTimeout(() => res.destroy(), LINGER_MS);
  res.once("close", () => clearTimeout(timer));
  req.once("end", () => res.end());
  // Without a listener, an error of a disconnected sender would end the server.
  req.once("error", () => res.destroy());
  req.resume();
}
