import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono, type Context } from "hono";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { invalidOption } from "./check-options.js";

const BODY_LIMIT_BYTES = 1024 * 1024;
/** Longer than clients keep an idle connection, so that none is closed just as they send. */
const KEEP_ALIVE_MS = 60_000;

export interface HttpRequest {
  method: string;
  /** The address asked for; only path and query count. */
  address: URL;
  headers: Record<string, string>;
  body: string;
  /** Why the body was not read to its end; `body` is then empty. */
  tooLarge?: string;
}

export interface HttpAnswer {
  status: number;
  headers?: Record<string, string>;
  body: string;
  /** The message of an error that is still to be written in the shape that `errorShape` chooses. */
  error?: string;
  /** The connection ends without any answer, or in the middle of the body. */
  cut?: "closed" | "truncated";
}

/** A web application on one of the emulator's ports. */
export type EmulatorApp = Hono<{ Bindings: HttpBindings }>;

export type HttpHandler = (request: HttpRequest) => Promise<HttpAnswer>;

/** An error in the shape of the envelope (section 2.2); on the service's two interfaces `errorShape` may choose another. */
export function answerError(status: number, message: string, headers?: Record<string, string>): HttpAnswer {
  return { ...answerJson(status, { status: "error", message }, headers), error: message };
}

export function answerJson(status: number, value: unknown, headers?: Record<string, string>): HttpAnswer {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}

/** An application in which one handler answers everything that no route added before it takes. */
export function createApp(addRoutes: (app: EmulatorApp) => void, handler: HttpHandler): EmulatorApp {
  const app: EmulatorApp = new Hono();
  addRoutes(app);
  app.all("*", async (context) => {
    const body = await readBody(context.env.incoming);
    return send(context, await handler(describeRequest(context, body)));
  });
  // A client that has gone, or the end of the emulator: the answer then goes nowhere. Else a defect of ours.
  app.onError((error, context) => send(context, answerError(500, `the emulator failed: ${error.message}`)));
  return app;
}

/**
 * The whole body, or undefined if it is too large. hono's own limit needs a global `Request` that is not Node's. Rejects if
 * the client goes.
 */
export function readBody(incoming: IncomingMessage): Promise<string | undefined> {
  // By events: going through the stream with `for await` takes longer than hono does.
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

function describeRequest(
  { env }: Context<{ Bindings: HttpBindings }>,
  body: string | undefined,
): HttpRequest {
  const { method = "", url: target = "/", headers } = env.incoming;
  // A client behind a proxy sends the absolute form; "*" and the like are no address of ours.
  const text = target.startsWith("/") ? `http://emulator${target}` : target;
  const address = URL.canParse(text) ? new URL(text) : new URL("http://emulator/");
  return {
    method,
    address,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    body: body ?? "",
    ...(body === undefined && { tooLarge: `the body is larger than ${BODY_LIMIT_BYTES} bytes` }),
  };
}

/** Not as a Response: making one of Node's and reading it again takes longer. */
function send({ env: { outgoing } }: Context<{ Bindings: HttpBindings }>, answer: HttpAnswer): Response {
  if (answer.cut === undefined) sendWhole(outgoing, answer);
  else cutShort(outgoing, answer);
  return RESPONSE_ALREADY_SENT;
}

function sendWhole(outgoing: ServerResponse, { status, headers, body }: HttpAnswer): void {
  if (body === "" || status === 204 || status === 205 || status === 304) {
    outgoing.writeHead(status, headers).end();
    return;
  }
  const ofText = { "content-type": "text/plain;charset=UTF-8", "content-length": Buffer.byteLength(body) };
  outgoing.writeHead(status, { ...ofText, ...headers }).end(body);
}

function cutShort(outgoing: ServerResponse, { status, headers, body, cut }: HttpAnswer): void {
  if (cut === "closed") {
    outgoing.socket?.destroy();
    return;
  }
  const bytes = Buffer.from(body);
  outgoing.writeHead(status, { ...headers, "content-length": bytes.length });
  outgoing.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => outgoing.socket?.destroy());
}

export interface HttpListener {
  /** Such as `http://127.0.0.1:8080`. */
  origin: string;
  /** Stops listening and ends every connection, also those that wait for an answer. */
  close(): Promise<void>;
}

/** Listens on an address; throws `invalid_config` if that cannot be had. */
export async function listen(app: EmulatorApp, host: string, port: number): Promise<HttpListener> {
  const underWay = new Set<Promise<unknown>>();
  const fetch = (request: Request, env: unknown): Promise<Response> => {
    const exchange = Promise.resolve(app.fetch(request, env as HttpBindings));
    underWay.add(exchange);
    return exchange.finally(() => underWay.delete(exchange));
  };
  const server = createAdaptorServer({ fetch, overrideGlobalObjects: false }) as Server;
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
      await Promise.allSettled([closed, ...underWay]);
    },
  };
}

function formatOrigin(bound: AddressInfo | string | null): string {
  if (bound === null || typeof bound === "string") throw new Error("the server listens on no port");
  const { address, family, port } = bound;
  const reachable = { "0.0.0.0": "127.0.0.1", "::": "::1" }[address] ?? address;
  return `http://${family === "IPv6" ? `[${reachable}]` : reachable}:${port}`;
}
