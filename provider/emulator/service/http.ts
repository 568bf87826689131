import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fromIncomingMessage } from "../../responder/node.js";
import { BODY_LIMIT_BYTES } from "../../responder/internal.js";
import { isLoopback } from "../../lib/url.js";
import { HttpError } from "../request-checks.js";
import { invalidOption } from "../usage-errors.js";
import { assertSameOrigin } from "../control/guard.js";
import type { EmulatorState, RecordedRequest } from "../state.js";
import { respondRecorded, toJson, type HttpResponse, type Identify } from "./exchange.js";
import { toStrings } from "./outgoing.js";

/** Longer than clients keep an idle connection, so that no connection is closed while a client sends. */
const KEEP_ALIVE_MS = 60_000;

/** Returns the requested URL. A client that uses a proxy sends the whole URL; "*" and the like become the root. */
export function requestUrlOf({ url: target = "/" }: IncomingMessage): URL {
  const text = target.startsWith("/") ? `http://emulator${target}` : target;
  return URL.parse(text) ?? new URL("http://emulator/");
}

/**
 * Returns one of the service's two interfaces. On loopback it is guarded: a test's keys are not secret,
 * so a web page could use them to read and change a registration. On other addresses it is as open as the
 * real service. Does not use hono, because connections are cut on purpose here, and because creating and
 * reading a Response would reduce the requests per second by a third.
 */
export function createService(
  state: EmulatorState,
  to: RecordedRequest["interface"],
  identify: Identify,
): RequestHandler {
  return async (incoming, outgoing) => {
    try {
      if (isLoopback(state.settings.host)) assertSameOrigin(state.settings, incoming);
      const body = await readBody(incoming);
      const { method = "", headers } = incoming;
      const request = { method, address: requestUrlOf(incoming), headers: toStrings(headers), body };
      send(outgoing, await respondRecorded(state, to, identify, request));
    } catch (error) {
      // Either the guard rejected the request, the client left, the emulator is closing, or this is a bug.
      const text = error instanceof Error ? error.message : String(error);
      const [status, message] =
        error instanceof HttpError ? [error.httpStatus, text] : [500, `the emulator failed: ${text}`];
      send(outgoing, toJson(status, { status: "error", message }));
    }
  };
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Returns the whole body, or an error if the body is too large. Rejects if the client disconnects. */
export async function readBody(incoming: IncomingMessage): Promise<string | HttpError> {
  const body = await fromIncomingMessage(incoming).readBody(BODY_LIMIT_BYTES);
  if (typeof body !== "string") return utf8.decode(body);
  if (body !== "body_too_large") throw new Error("the client disconnected");
  // Unless the rest is read, the client cannot read the response.
  incoming.resume();
  const message = `the body is larger than ${BODY_LIMIT_BYTES} bytes`;
  return new HttpError(413, message, { headers: { connection: "close" } });
}

function send(outgoing: ServerResponse, { status, headers, body, cut }: HttpResponse): void {
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
  /** Stops listening and ends every connection, including those that wait for a response. */
  close(): Promise<void>;
}

export type RequestHandler = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

/** Listens on an address. Requests wait for `ready`. Throws `invalid_config` if the address is not available. */
export async function listen(
  { host, port, ready }: { host: string; port: number; ready: Promise<void> },
  respond: RequestHandler,
): Promise<HttpListener> {
  const inProgress = new Set<Promise<void>>();
  const server = createServer((incoming, outgoing) => {
    const exchange = ready.then(() => respond(incoming, outgoing)).finally(() => inProgress.delete(exchange));
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
    origin: formatOrigin(server.address() as AddressInfo),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await Promise.allSettled([closed, ...inProgress]);
    },
  };
}

function formatOrigin({ address, family, port }: AddressInfo): string {
  const reachable = { "0.0.0.0": "127.0.0.1", "::": "::1" }[address] ?? address;
  return `http://${family === "IPv6" ? `[${reachable}]` : reachable}:${port}`;
}
