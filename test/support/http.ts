import { randomInt } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { Worker } from "node:worker_threads";
import { listen as listenOnLoopback, type Listening } from "../../tools/lib/listen.ts";

export type { Listening };

const cleanups: (() => unknown)[] = [];

/**
 * Runs `cleanUp` after the last test of the test file (see after-file.ts), not after each test, because the
 * tests of a file may run concurrently.
 */
export const afterTests = (cleanUp: () => unknown): void => void cleanups.push(cleanUp);

export const cleanUp = (): Promise<unknown> => Promise.all(cleanups.splice(0).map((one) => one()));

/** A request that was received completely. */
export interface Received {
  method: string;
  /** Path and query, as sent. */
  path: string;
  headers: IncomingHttpHeaders;
  /** Names and values in the case and order in which they were sent. */
  rawHeaders: string[];
  body: string;
  bytes: Buffer;
  /** `performance.now()` at its end. */
  atMs: number;
}

/** Responds to one request; index counts requests from 0. If it sends no response, the client waits. */
export type Answer = (request: Received, response: ServerResponse, index: number) => unknown;

export interface ServerOptions {
  /** Default: a free one. */
  port?: number;
  /** Serves https with this certificate. */
  tls?: { key: string | Buffer; cert: string | Buffer };
}

/** A server. Like every server here, it is closed with its connections after the test file's last test. */
export interface TestServer extends Listening {
  requests: Received[];
  /** Replaces the response. */
  answerWith(answer: Answer): void;
}

/** Reads and records every request, and responds with 200 and no body unless `answer` is given. */
export async function startServer(
  answer: Answer = (_, response) => response.end(),
  options: ServerOptions = {},
): Promise<TestServer> {
  const requests: Received[] = [];
  const take = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url: path = "", headers, rawHeaders } = incoming;
    // The test does not fail if a client disconnects before it has sent everything.
    const bytes = await buffer(incoming).catch(() => undefined);
    if (bytes === undefined) return;
    const atMs = performance.now();
    const request = { method, path, headers, rawHeaders, body: bytes.toString(), bytes, atMs };
    await answer(request, response, requests.push(request) - 1);
  };
  const listener: RequestListener = (incoming, response) => void take(incoming, response);
  const answerWith = (next: Answer): void => void (answer = next);
  return { ...(await startListener(listener, options)), requests, answerWith };
}

/** Starts a server with a listener that, like the responder's, reads each request itself. */
export async function startListener(
  listener: RequestListener,
  { port, tls }: ServerOptions = {},
): Promise<Listening> {
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  return listen(server, tls ? "https" : "http", port);
}

/** Starts a TCP server. `serve` handles a connection: it may send bytes, close it or stay silent. */
export async function startTcpServer(
  serve: (socket: Socket) => unknown = () => {},
  options: Pick<ServerOptions, "port"> = {},
): Promise<Listening> {
  return listen(createTcpServer(serve), "http", options.port);
}

/**
 * Returns a port on which nothing listens. It is below the range from which systems choose free ports, so no
 * other test server gets it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createTcpServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

/** Returns the head of a request, including a Host header. */
export const head = (line: string, headers: readonly string[]): string =>
  [line, "host: localhost", ...headers, "", ""].join("\r\n");

/** Sends bytes unchanged, and returns everything that is received until the connection ends. */
export async function sendRaw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(bytes);
  return text(socket);
}

/** Starts a listener that accepts no connections and whose backlog is full, so connecting never completes. */
export async function startDeafListener(): Promise<string> {
  const script = `
    const { parentPort } = require("node:worker_threads");
    const server = require("node:net").createServer();
    server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const worker = new Worker(script, { eval: true });
  afterTests(() => worker.terminate());
  const port = await new Promise<number>((resolve) => worker.once("message", resolve));
  let connected = 0;
  // With a backlog of one, the system completes two connections, and never responds to further attempts.
  await new Promise<void>((resolve) => {
    for (let n = 0; n < 4; n += 1) {
      const socket = connect(port, "127.0.0.1", () => (connected += 1) === 2 && resolve());
      socket.on("error", () => socket.destroy());
      afterTests(() => socket.destroy());
    }
  });
  return `http://127.0.0.1:${port}`;
}

async function listen(server: Server, scheme: string, port?: number): Promise<Listening> {
  const listening = await listenOnLoopback(server, scheme, port);
  afterTests(listening.close);
  return listening;
}
