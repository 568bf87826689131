import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { invalidOption } from "../errors.js";

/** The largest body of a request. */
export const BODY_LIMIT_BYTES = 1024 * 1024;
/** Longer than clients keep an idle connection, so that none is closed just as they send. */
const KEEP_ALIVE_MS = 60_000;

export interface HttpRequest {
  method: string;
  /** The address asked for; only path and query count. */
  address: URL;
  headers: Record<string, string>;
  body: string;
  /** The body was not read to its end; `body` is then empty. */
  isTooLarge: boolean;
}

export interface HttpResponse {
  status: number;
  headers?: Record<string, string>;
  body: string;
  /** The connection ends without any answer, or in the middle of the body. */
  cut?: "closed" | "truncated";
}

export function answerJson(status: number, value: unknown, headers?: Record<string, string>): HttpResponse {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}

/** The address asked for. A client behind a proxy sends the absolute form; "*" and the like are no address of ours. */
export function addressOf({ url: target = "/" }: IncomingMessage): URL {
  const text = target.startsWith("/") ? `http://emulator${target}` : target;
  return URL.parse(text) ?? new URL("http://emulator/");
}

/**
 * Reads a request of the service and sends its answer. Not with hono: connections are cut on purpose here, hono's bodyLimit fails
 * on a request without a body, and a third of the requests in a second is lost by making a Response and reading it again.
 */
export async function answerRaw(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  answer: (request: HttpRequest) => Promise<HttpResponse>,
): Promise<void> {
  try {
    const body = await readBody(incoming);
    const { method = "", headers } = incoming;
    const request = {
      method,
      address: addressOf(incoming),
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      body: body ?? "",
      isTooLarge: body === undefined,
    };
    send(outgoing, await answer(request));
  } catch (error) {
    // A client that has gone, or the end of the emulator: the answer then goes nowhere. Else a defect of ours.
    const message = `the emulator failed: ${error instanceof Error ? error.message : String(error)}`;
    send(outgoing, answerJson(500, { status: "error", message }));
  }
}

/** The whole body, or undefined if it is too large. Rejects if the client goes. */
function readBody(incoming: IncomingMessage): Promise<string | undefined> {
  // By events: going through the stream with `for await` takes longer than all the rest.
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const chunks: Buffer[] = [];
  let size = 0;
  const refuse = (): void => {
    if (!incoming.readableEnded) reject(new Error("the client has gone"));
  };
  incoming.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= BODY_LIMIT_BYTES) chunks.push(chunk);
  });
  incoming.on("end", () => {
    resolve(size > BODY_LIMIT_BYTES ? undefined : Buffer.concat(chunks).toString("utf8"));
  });
  incoming.on("close", refuse);
  if (incoming.destroyed) refuse();
  return promise;
}

export function send(outgoing: ServerResponse, { status, headers, body, cut }: HttpResponse): void {
  if (cut === "closed") {
    outgoing.socket?.destroy();
  } else if (cut === "truncated") {
    const bytes = Buffer.from(body);
    outgoing.writeHead(status, { ...headers, "content-length": bytes.length });
    outgoing.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => outgoing.socket?.destroy());
  } else if (body === "" || status === 204 || status === 205 || status === 304) {
    outgoing.writeHead(status, headers).end();
  } else {
    const ofText = { "content-type": "text/plain;charset=UTF-8", "content-length": Buffer.byteLength(body) };
    outgoing.writeHead(status, { ...ofText, ...headers }).end(body);
  }
}

export interface HttpListener {
  /** Such as `http://127.0.0.1:8080`. */
  origin: string;
  /** Stops listening and ends every connection, also those that wait for an answer. */
  close(): Promise<void>;
}

/** Listens on an address; throws `invalid_config` if that cannot be had. */
export async function listen(
  { host, port }: { host: string; port: number },
  answer: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>,
): Promise<HttpListener> {
  const inProgress = new Set<Promise<void>>();
  const server = createServer((incoming, outgoing) => {
    const exchange = answer(incoming, outgoing).finally(() => inProgress.delete(exchange));
    inProgress.add(exchange);
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => {
      reject(invalidOption(`startEmulator: cannot listen on ${host} port ${port}: ${error.message}`, error));
    });
    server.listen(port, host, resolve);
  });
  return {
    origin: formatOrigin(server.address()),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await Promise.allSettled([closed, ...inProgress]);
    },
  };
}

function formatOrigin(bound: AddressInfo | string | null): string {
  if (bound === null || typeof bound === "string") throw new Error("the server listens on no port");
  const { address, family, port } = bound;
  const reachable = { "0.0.0.0": "127.0.0.1", "::": "::1" }[address] ?? address;
  return `http://${family === "IPv6" ? `[${reachable}]` : reachable}:${port}`;
}
