/** A separate entry file: commands that listen on HTTP but run no server need neither its spool nor its forwarder. */
import { once } from "node:events";
import { createServer, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { Server as NetServer, type AddressInfo, type Socket } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { ApiChatError, type Hint } from "../errors/index.js";
import { readFileIfExists } from "../lib/files.js";
import { isLoopback, toUrlHost } from "../lib/url.js";
import type { NodeListener } from "../responder/node.js";

/** Where to listen; port 0 is any that is free. */
export interface ListenAddress {
  host: string;
  port: number;
}

export interface Listener extends ListenAddress {
  /**
   * Accepts no new connections, finishes requests in progress, and closes idle connections half a second later: a
   * request that is already on its way still gets its response. Requests that take longer than five seconds are cut
   * off. Calling it again waits for the same shutdown.
   */
  close(): Promise<void>;
}

/** Enough for a delivery over a bad line, and an end to those who send a byte a second. */
const LIMITS = {
  /** The head of a request. */
  headMs: 10_000,
  /** All of a request. */
  requestMs: 20_000,
  /** How often both limits are checked. */
  checkEveryMs: 1_000,
  /** How long idle connections stay open after `close`: longer than a request takes to cross the world. */
  lingerMs: 500,
  /** How long `close` waits for requests in progress. */
  drainMs: 5_000,
  /** The proxy before a responder needs few. See {@link Connections}. */
  connections: 2_000,
};

/** Forwarding adds our own headers, and most servers accept 16 KiB in total. */
const HEAD_BYTES = 15 * 1024;

/** Longer than proxies and clients keep an idle connection, so that none is closed just as they send. */
const KEEP_ALIVE_MS = 75_000;
const LOOK_EVERY_MS = 20;

/** Files that the process opens in addition to connections: for targets, the spool, the program. */
const OTHER_FILES = 400;

/** On Linux, returns a warning if this process may open too few files: new connections would then get no response. */
export function warningOfFileLimit(): string | undefined {
  const [, limit] = /^Max open files +(\d+)/m.exec(readFileIfExists("/proc/self/limits") ?? "") ?? [];
  const needed = LIMITS.connections + OTHER_FILES;
  if (limit === undefined || Number(limit) >= needed) return undefined;
  return (
    `this process may open ${limit} files, fewer than the ${needed} that it needs ` +
    `with ${LIMITS.connections} connections: raise the limit (ulimit -n, LimitNOFILE)`
  );
}

/** Starts to listen. Throws `unavailable` with how to fix it if the address is not available. */
export async function startListener(
  address: ListenAddress,
  listener: NodeListener,
  limits = LIMITS,
): Promise<Listener> {
  let isClosing = false;
  const connections = new Connections(limits.connections);
  const options: ServerOptions = {
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEAD_BYTES,
  };
  const server = createServer(options, (req, res) => {
    connections.noteRequest(res);
    if (isClosing) res.setHeader("connection", "close");
    listener(req, res);
  });
  // A sender that ends its side after its request still gets the response.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket) => connections.accept(socket));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) =>
    connections.afterResponse(socket, () => rejectBroken(error, socket)),
  );
  server.listen(address.port, address.host);
  await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
    throw describeListenFailure(error, address);
  });
  let closed: Promise<void> | undefined;
  return {
    host: address.host,
    port: (server.address() as AddressInfo).port,
    close: () => {
      isClosing = true;
      connections.endAfterResponses();
      return (closed ??= drain(server, limits));
    },
  };
}

/** The responses to what is no request, as Node sends them, by error code. */
const BROKEN: Partial<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

function rejectBroken({ code = "" }: NodeJS.ErrnoException, socket: Socket): void {
  if (socket.writable)
    socket.write(`HTTP/1.1 ${BROKEN[code] ?? "400 Bad Request"}\r\nConnection: close\r\n\r\n`);
  socket.destroySoon();
}

async function drain(server: Server, { lingerMs, drainMs }: typeof LIMITS): Promise<void> {
  // Not the HTTP server's own close, which immediately closes idle connections, even if a request is on its way.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  const idleFromMs = performance.now() + lingerMs;
  const idle = setInterval(() => {
    if (performance.now() >= idleFromMs) server.closeIdleConnections();
  }, LOOK_EVERY_MS);
  const limit = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(idle);
  clearTimeout(limit);
  // Ends the check of the time limits.
  server.close();
}

/**
 * The open connections of a server, at most this many. One more takes the place of the connection that has waited
 * longest for its sender: an idle one first, then one whose request is incomplete. If every connection waits for a
 * response, the new one is closed. So no client can keep others out by holding connections open.
 */
class Connections {
  readonly #limit: number;
  /** The last response on each connection, if any. The connections that have sent nothing for longest come first. */
  readonly #responses = new Map<Socket, ServerResponse | undefined>();
  /** By a response: the one before it on its connection, if that was not sent when the request came. */
  readonly #previous = new WeakMap<ServerResponse, ServerResponse>();

  /** Connections that have sent something other than a valid request. */
  readonly #broken = new WeakSet<Socket>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  accept(socket: Socket): void {
    if (this.#responses.size >= this.#limit) {
      const loser = this.#find(isIdle) ?? this.#find(isIncomplete) ?? socket;
      this.#responses.delete(loser);
      loser.destroy();
      if (loser === socket) return;
    }
    this.#responses.set(socket, undefined);
    socket.once("close", () => this.#responses.delete(socket));
  }

  noteRequest(response: ServerResponse): void {
    const { socket } = response.req;
    const previous = this.#responses.get(socket);
    if (previous !== undefined && !isIdle(previous)) this.#previous.set(response, previous);
    this.#responses.delete(socket);
    this.#responses.set(socket, response);
  }

  /** Calls back, once for each connection, when its complete requests have their responses. */
  afterResponse(socket: Socket, callback: () => void): void {
    if (this.#broken.has(socket)) return;
    this.#broken.add(socket);
    let last = this.#responses.get(socket);
    if (last !== undefined && isIncomplete(last)) last = this.#previous.get(last);
    if (isIdle(last)) callback();
    else last?.once("close", callback);
  }

  endAfterResponses(): void {
    for (const response of this.#responses.values())
      if (response !== undefined && !response.headersSent) response.setHeader("connection", "close");
  }

  #find(isWanted: (response: ServerResponse | undefined) => boolean): Socket | undefined {
    for (const [socket, response] of this.#responses) if (isWanted(response)) return socket;
    return undefined;
  }
}

const isIdle = (response: ServerResponse | undefined): boolean => response?.writableFinished ?? true;

const isIncomplete = (response: ServerResponse | undefined): boolean => response?.req.complete === false;

export function describeListenFailure(
  error: NodeJS.ErrnoException,
  { host, port }: ListenAddress,
): ApiChatError {
  const { reason = error.message, hint } = FAILURES[error.code ?? ""]?.(port) ?? {};
  return new ApiChatError("unavailable", `cannot listen on ${host} port ${port}: ${reason}`, {
    operation: "responder",
    hints: hint && [hint],
    cause: error,
  });
}

const FAILURES: Partial<Record<string, (port: number) => { reason: string; hint: Hint }>> = {
  EADDRINUSE: (port) => ({
    reason: "the port is taken by another program",
    hint: { id: "free_port", port },
  }),
  EACCES: () => ({ reason: "it is not permitted", hint: { id: "set_high_port" } }),
  EADDRNOTAVAIL: () => ({
    reason: "the host is not an address of this machine",
    hint: { id: "set_local_host" },
  }),
  ENOTFOUND: () => ({ reason: "the host name cannot be resolved", hint: { id: "set_local_host" } }),
};

const HTTP_PORT = 80;

/** Whether a URL, called on this machine, reaches what listens on an address. Port NaN is not known. */
export function reachesAddress(url: string, { host, port }: ListenAddress): boolean {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== "http:" || Number(parsed.port || HTTP_PORT) !== port) return false;
  const [called, listening] = [parsed.hostname, toUrlHost(host)];
  if (called === listening || (isLocal(called) && isLocal(listening))) return true;
  return EVERY_ADDRESS.test(listening) && ownHosts().includes(called);
}

/** The spellings of "every address of this machine", which programs on it may also call. */
const EVERY_ADDRESS = /^(0\.0\.0\.0|\[::\]|\[::ffff:0:0\])$/;

const isLocal = (host: string): boolean => EVERY_ADDRESS.test(host) || isLoopback(host);

const ownHosts = (): string[] => [
  hostname().toLowerCase(),
  ...Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => toUrlHost(address))),
];
