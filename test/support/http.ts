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

/** Undone when the file's tests are through (see after-file.ts), not after each: tests may run side by side. */
export const afterTests = (cleanUp: () => unknown): void => void cleanups.push(cleanUp);

export const cleanUp = (): Promise<unknown> => Promise.all(cleanups.splice(0).map((one) => one()));

/** A request that came in whole. */
export interface Received {
  method: string;
  /** Path and query, as sent. */
  path: string;
  headers: IncomingHttpHeaders;
  /** Names and values in the case and order in which they came. */
  rawHeaders: string[];
  body: string;
  bytes: Buffer;
  /** `performance.now()` when it was there. */
  atMs: number;
}

/** What to answer to one request; the index counts requests from 0. An answer that does nothing lets the client wait. */
export type Answer = (request: Received, response: ServerResponse, index: number) => unknown;

export interface ServerOptions {
  /** Default: a free one. */
  port?: number;
  /** Serves https with this certificate. */
  tls?: { key: string | Buffer; cert: string | Buffer };
}

/** Like every server here, it ends with the file's tests, and with it every connection. */
export interface TestServer extends Listening {
  requests: Received[];
  /** What is answered from now on. */
  answerWith(answer: Answer): void;
}

/** Takes every request whole, keeps it, and answers: 200 without a body unless an answer is given. */
export async function startServer(
  answer: Answer = (_, response) => response.end(),
  options: ServerOptions = {},
): Promise<TestServer> {
  const requests: Received[] = [];
  const take = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url: path = "", headers, rawHeaders } = incoming;
    // A client that gives up while it still sends is no failure of the test.
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

/** For a listener that reads the request itself, such as the responder's. */
export async function startListener(
  listener: RequestListener,
  { port, tls }: ServerOptions = {},
): Promise<Listening> {
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  return listen(server, tls ? "https" : "http", port);
}

/** Does with each connection what it likes: answers bytes, cuts it, or is silent. */
export async function startTcpServer(
  serve: (socket: Socket) => unknown = () => {},
  options: Pick<ServerOptions, "port"> = {},
): Promise<Listening> {
  return listen(createTcpServer(serve), "http", options.port);
}

/** A port on which nothing listens, below those that systems hand out: no other server of the tests gets it by chance. */
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

/** The head of a request, with a Host. */
export const head = (line: string, headers: readonly string[]): string =>
  [line, "host: localhost", ...headers, "", ""].join("\r\n");

/** Sends bytes as they are and gives everything that comes back until the connection ends. */
export async function sendRaw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(bytes);
  return text(socket);
}

/** A listener that accepts nothing and whose backlog is full: connecting to its URL never ends. */
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
  // A backlog of one holds two connections; whoever comes later gets no answer at all.
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
