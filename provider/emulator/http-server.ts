import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { invalidOption } from "./options.js";

const maxBodyBytes = 1024 * 1024;

export interface HttpRequest {
  method: string;
  /** The address asked for; only path and query count. */
  address: URL;
  headers: Record<string, string>;
  body: string;
}

export interface HttpAnswer {
  status: number;
  headers?: Record<string, string>;
  body: string;
  /** The connection ends without any answer, or in the middle of the body. */
  cut?: "closed" | "truncated";
}

/** An error in the shape of the envelope (section 2.2); what the service answers is not in the specification. */
export function answerError(status: number, message: string, headers?: Record<string, string>): HttpAnswer {
  return answerJson(status, { status: "error", message }, headers);
}

export function answerJson(status: number, value: unknown, headers?: Record<string, string>): HttpAnswer {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}

const tooLarge = answerError(413, `the body is larger than ${maxBodyBytes} bytes`, { connection: "close" });

export type HttpHandler = (request: HttpRequest) => Promise<HttpAnswer>;

export interface HttpListener {
  /** Such as `http://127.0.0.1:8080`. */
  origin: string;
  /** Stops listening and ends every connection, also those that wait for an answer. */
  close(): Promise<void>;
}

/** Listens on an address; throws `invalid_config` if that cannot be had. */
export async function listen(handler: HttpHandler, host: string, port: number): Promise<HttpListener> {
  const underWay = new Set<Promise<void>>();
  const server = createServer((incoming, response) => {
    const exchange = answer(handler, incoming, response).finally(() => underWay.delete(exchange));
    underWay.add(exchange);
  });
  // Longer than clients keep an idle connection, so that none is closed just as they send.
  server.keepAliveTimeout = 60_000;
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
      await Promise.all([closed, ...underWay]);
    },
  };
}

async function answer(
  handler: HttpHandler,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const body = await readBody(incoming);
    send(response, body === undefined ? tooLarge : await handler(describeRequest(incoming, body)));
  } catch (error) {
    // A client that has gone, or the end of the emulator: the answer then goes nowhere. Else a defect of ours.
    send(response, answerError(500, `the emulator failed: ${error instanceof Error ? error.message : "?"}`));
  }
}

/** The whole body, or undefined if it is too large. */
async function readBody(incoming: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= maxBodyBytes) chunks.push(chunk);
  }
  return size > maxBodyBytes ? undefined : Buffer.concat(chunks).toString("utf8");
}

function describeRequest(incoming: IncomingMessage, body: string): HttpRequest {
  const target = incoming.url ?? "/";
  // A client behind a proxy sends the absolute form; "*" and the like are no address of ours.
  const text = target.startsWith("/") ? `http://emulator${target}` : target;
  const address = URL.canParse(text) ? new URL(text) : new URL("http://emulator/");
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
  return { method: incoming.method ?? "", address, headers: Object.fromEntries(headers), body };
}

function send(response: ServerResponse, { status, headers, body, cut }: HttpAnswer): void {
  if (cut === "closed") {
    response.socket?.destroy();
    return;
  }
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...headers, "content-length": bytes.length });
  if (cut === "truncated") {
    response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.socket?.destroy());
    return;
  }
  response.end(bytes);
}

function formatOrigin(bound: AddressInfo | string | null): string {
  if (bound === null || typeof bound === "string") throw new Error("the server listens on no port");
  const { address, family, port } = bound;
  const reachable = { "0.0.0.0": "127.0.0.1", "::": "::1" }[address] ?? address;
  return `http://${family === "IPv6" ? `[${reachable}]` : reachable}:${port}`;
}
