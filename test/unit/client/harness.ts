import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from "node:http";
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from "node:net";
import { Worker } from "node:worker_threads";
import { Agent } from "undici";
import { afterAll } from "vitest";
import {
  ApiChatError,
  RegistrationClient,
  type RegistrationClientOptions,
} from "../../../provider/client/index.js";

/** Secrets whose characters every encoding writes in another way. */
export const API_KEY = "ak/system+test=&<secret>\"ü'-0123456789";
export const VERIFICATION_KEY = "vk/acme+test=&<secret>\"ü'-0123456789";

/** Undone when the file's tests are through, so that they may run side by side. */
const cleanups: (() => unknown)[] = [];
afterAll(async () => {
  await Promise.all(cleanups.splice(0).map((cleanUp) => cleanUp()));
});

export const afterTests = (cleanUp: () => unknown): void => void cleanups.push(cleanUp);

export interface Received {
  method: string;
  /** Path and query, as sent. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface TestServer {
  /** Origin, such as `http://127.0.0.1:8080`. */
  origin: string;
  received: Received[];
}

/** What to answer to one request; the index counts requests from 0. */
export type Answer = (request: Received, response: ServerResponse, index: number) => void;

/** An HTTP server on a free loopback port, gone after the tests. */
export async function startServer(answer: Answer): Promise<TestServer> {
  const received: Received[] = [];
  const listener: RequestListener = (incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url: path = "", headers } = incoming;
      const request = { method, path, headers, body: Buffer.concat(chunks).toString() };
      answer(request, response, received.push(request) - 1);
    });
  };
  return { origin: await listen(createServer(listener)), received };
}

/** A TCP server that answers whatever bytes it likes. */
export async function startTcpServer(serve: (socket: Socket) => void): Promise<string> {
  return listen(
    createTcpServer((socket) => {
      // A client that gives up resets its connection; that is no failure of the test.
      socket.on("error", () => socket.destroy());
      serve(socket);
    }),
  );
}

/** A loopback listener that accepts nothing and whose backlog is full: connecting to it never ends. */
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

/** A loopback port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}

async function listen(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterTests(() => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    return closed;
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export const REGISTERED = {
  webhook_url: "https://chat.acme.example/webhooks/apichat",
  webhook_verification_key: VERIFICATION_KEY,
  webhook_status: "verified",
  bot_url: "https://bots.example/api/apichat/f1",
};

export function answerJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

export const answerOk = (response: ServerResponse, data: unknown = REGISTERED): void =>
  answerJson(response, { status: "ok", data });

/** A client with connections of its own, closed after the tests. */
export function createTestClient(
  baseUrl: string,
  options: Partial<RegistrationClientOptions> = {},
): RegistrationClient {
  const dispatcher = options.dispatcher ?? createAgent();
  return new RegistrationClient({ baseUrl, apiKey: API_KEY, requestSeconds: 3, ...options, dispatcher });
}

export function createAgent(options: Agent.Options = {}): Agent {
  const agent = new Agent(options);
  // Not awaited: a connection that cannot be made would be waited for.
  afterTests(() => void agent.destroy());
  return agent;
}

/** The ApiChatError with which a call fails. Throws if it succeeds or fails in another way. */
export async function failureOf(call: Promise<unknown>): Promise<ApiChatError> {
  const outcome: unknown = await call.then(
    (value) => new Error(`it succeeded with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof ApiChatError) return outcome;
  throw outcome;
}
