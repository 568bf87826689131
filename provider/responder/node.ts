import type { IncomingMessage, ServerResponse } from "node:http";
import type { Responder } from "./responder.js";

/** How long the rest of a body is read and thrown away after an early answer, so that the sender can read the answer. */
const LINGER_MS = 2_000;

/** What `http.createServer` takes. */
export type NodeListener = (req: IncomingMessage, res: ServerResponse) => void;

/**
 * Makes a listener for `http.createServer` out of a responder. It only converts: the body is streamed, repeated headers
 * are kept, and an answer that comes before the whole body ends the connection. A request that cannot be expressed as a
 * `Request` (its `Host` is no host, its method is TRACE) gets 400, a responder that rejects 500, both without a body.
 *
 * @example
 * http.createServer(toNodeListener(responder)).listen(8080);
 */
export function toNodeListener(responder: Responder): NodeListener {
  return (req, res) => {
    // A sender that leaves while it is answered must not end the server.
    res.on("error", () => res.destroy());
    void answerRequest(responder, req, res);
  };
}

async function answerRequest(responder: Responder, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const request = toRequest(req);
  if (request === undefined) return endWithStatus(res, 400);
  try {
    const response = await responder(request);
    await sendResponse(response, req, res);
  } catch (error) {
    console.error(`apichat responder: no answer could be given: ${String(error)}`);
    endWithStatus(res, 500);
  }
}

function toRequest(req: IncomingMessage): Request | undefined {
  const method = req.method ?? "GET";
  const isBodyless = method === "GET" || method === "HEAD";
  try {
    return new Request(toUrl(req), {
      method,
      headers: toHeaders(req.headersDistinct),
      ...(isBodyless ? {} : { body: streamBody(req), duplex: "half" }),
    });
  } catch {
    // Request itself is the judge of what it can hold.
    return undefined;
  }
}

function toUrl(req: IncomingMessage): string {
  const target = req.url ?? "/";
  // Joined and not resolved: as a relative address "//other/path" would name another host.
  const scheme = "encrypted" in req.socket ? "https" : "http";
  return target.startsWith("/") ? `${scheme}://${req.headers.host ?? "localhost"}${target}` : target;
}

function toHeaders(headersDistinct: IncomingMessage["headersDistinct"]): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  return headers;
}

function streamBody(req: IncomingMessage): ReadableStream<Uint8Array> {
  // Readable.toWeb would end the connection on cancel, before the answer is sent.
  const chunks = req.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

async function sendResponse(response: Response, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const body = new Uint8Array(await response.arrayBuffer());
  if (res.destroyed) return;
  const isEarly = !req.complete;
  res.statusCode = response.status;
  for (const [name, value] of response.headers) res.appendHeader(name, value);
  if (response.body !== null) res.setHeader("content-length", body.byteLength);
  if (!isEarly) {
    res.end(body);
    return;
  }
  res.setHeader("connection", "close");
  res.flushHeaders();
  res.write(body, () => req.socket.end());
  discardRest(req, res);
}

/** Reads the rest of the body away: a socket that is closed over unread data takes the answer with it. */
function discardRest(req: IncomingMessage, res: ServerResponse): void {
  const timer = setTimeout(() => res.destroy(), LINGER_MS);
  res.once("close", () => clearTimeout(timer));
  req.once("end", () => res.end());
  req.resume();
}

function endWithStatus(res: ServerResponse, status: number): void {
  if (res.destroyed) return;
  if (res.headersSent) res.destroy();
  else res.writeHead(status, { connection: "close" }).end();
}
