/** A separate entry file, so that `apichat listen` and the emulator do not load the spool and the forwarder. */
import { once } from "node:events";
import { createServer, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { Server as NetServer, type AddressInfo, type Socket } from "node:net";
import { ApiChatError, type Hint } from "../errors/index.js";
import type { NodeListener } from "../responder/node.js";

/** Where to listen; port 0 picks a free port. */
export interface ListenAddress {
  host: string;
  port: number;
}

export interface Listener extends ListenAddress {
  /**
   * Accepts no new connections, finishes requests in progress, and closes idle connections half a second later, so
   * that a request that is already on its way still gets its response. Cuts off requests that take longer than five
   * seconds. A second call waits for the same shutdown.
   */
  close(): Promise<void>;
}

/** Long enough for a delivery over a slow connection, but not for a sender of one byte per second. */
const LIMITS = {
  /** The head of a request. */
  headMs: 10_000,
  /** The whole request. */
  requestMs: 20_000,
  /** How often the two limits above are checked. */
  checkEveryMs: 1_000,
  /** How long idle connections stay open after `close`: longer than a request takes to arrive. */
  lingerMs: 500,
  /** How long `close` waits for requests in progress. */
  drainMs: 5_000,
  /** How many connections may be open: a proxy in front of a responder needs few. See {@link Connections}. */
  connections: 2_000,
};

/** Below the 16 KiB that most servers accept, because the target must also accept the headers that forwarding adds. */
const HEAD_BYTES = 15 * 1024;

/** Longer than proxies and clients keep idle connections: if this server closed one first, a request could be lost. */
const KEEP_ALIVE_MS = 75_000;
const LOOK_EVERY_MS = 20;

/** Starts to listen. Throws `unavailable`, with a hint, if the address is not available. */
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
  // A sender that closes its side after its request still gets the response.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket) => connections.accept(socket));
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

async function drain(server: Server, { lingerMs, drainMs }: typeof LIMITS): Promise<void> {
  // The HTTP server's own close would immediately close idle connections, even if a request is on its way.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  const idleFromMs = performance.now() + lingerMs;
  const idle = setInterval(() => {
    if (performance.now() >= idleFromMs) server.closeIdleConnections();
  }, LOOK_EVERY_MS);
  const limit = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(idle);
  clearTimeout(limit);
  // Also ends the timer with which the HTTP server checks the time limits.
  server.close();
}

/**
 * The open connections of a server. At the limit, a new connection replaces the one that has waited longest for its
 * sender: an idle one if there is any, else one whose request is incomplete. If all connections wait for a
 * response, the new one is closed. So no client can keep others out by holding connections open.
 */
class Connections {
  readonly #limit: number;
  /** The last response on each connection, if any. Connections that have been silent longest come first. */
  readonly #responses = new Map<Socket, ServerResponse | undefined>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  accept(socket: Socket): void {
    if (this.#responses.size >= this.#limit) {
      const loser =
        this.#find(isIdle) ?? this.#find((response) => response?.req.complete === false) ?? socket;
      this.#responses.delete(loser);
      loser.destroy();
      if (loser === socket) return;
    }
    this.#responses.set(socket, undefined);
    socket.once("close", () => this.#responses.delete(socket));
  }

  noteRequest(response: ServerResponse): void {
    const { socket } = response.req;
    this.#responses.delete(socket);
    this.#responses.set(socket, response);
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
