import { createServer, type Server, type ServerOptions } from "node:http";
import { Server as NetServer, type AddressInfo } from "node:net";
import { ApiChatError, type Hint } from "../errors/index.js";
import type { NodeListener } from "../responder/node.js";
import { Connections } from "./connections.js";

/** Where to listen; port 0 is any that is free. */
export interface Address {
  host: string;
  port: number;
}

/** An HTTP server that listens. */
export interface Listener extends Address {
  /**
   * Accepts no new connections, finishes requests in progress, and closes idle connections half a second later: a
   * request that is already on its way still gets its response. Requests that take longer than five seconds are cut
   * off. Calling it again waits for the same shutdown.
   */
  close(): Promise<void>;
}

/** How long things may take, in milliseconds, and how many connections there may be. */
export interface ListenerLimits {
  /** The head of a request. */
  headMs: number;
  /** All of a request. */
  requestMs: number;
  /** How often both limits are checked. */
  checkEveryMs: number;
  /** How long idle connections stay open after `close`. */
  lingerMs: number;
  /** How long `close` waits for requests in progress. */
  drainMs: number;
  /** How many connections may be open: see {@link Connections}. */
  connections: number;
}

/**
 * Enough for a delivery over a bad line, and an end to those who send a byte a second. Each connection may hold a body in
 * memory, and the proxy before a responder needs few.
 */
const LIMITS: ListenerLimits = {
  headMs: 10_000,
  requestMs: 20_000,
  checkEveryMs: 1_000,
  // Longer than a request takes to cross the world on an open connection.
  lingerMs: 500,
  drainMs: 5_000,
  connections: 2_000,
};

/**
 * Forwarding adds our own headers, and most servers accept 16 KiB in total: accepted headers must leave room for them.
 */
const HEAD_BYTES = 15 * 1024;

/** Longer than proxies and clients keep an idle connection, so that none is closed just as they send. */
const KEEP_ALIVE_MS = 75_000;
const LOOK_EVERY_MS = 20;

/** Listens; throws `unavailable` with how to fix it if the address is not available. */
export async function listen(
  address: Address,
  listener: NodeListener,
  limits: ListenerLimits = LIMITS,
): Promise<Listener> {
  let isClosing = false;
  const connections = new Connections(limits.connections);
  const server = createServer(toServerOptions(limits), (req, res) => {
    // Its response would follow the last one, so it is not processed (RFC 9112, 9.6): its sender sends it again.
    if (connections.isEnding(req.socket)) return;
    connections.noteRequest(res);
    if (isClosing) res.setHeader("connection", "close");
    listener(req, res);
  });
  server.on("connection", (socket) => connections.accept(socket));
  await bind(server, address);
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

const toServerOptions = ({ headMs, requestMs, checkEveryMs }: ListenerLimits): ServerOptions => ({
  headersTimeout: headMs,
  requestTimeout: requestMs,
  connectionsCheckingInterval: checkEveryMs,
  keepAliveTimeout: KEEP_ALIVE_MS,
  maxHeaderSize: HEAD_BYTES,
});

async function bind(server: Server, { host, port }: Address): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(describeListenFailure(error, { host, port })),
    );
    server.listen(port, host, resolve);
  });
}

async function drain(server: Server, { lingerMs, drainMs }: ListenerLimits): Promise<void> {
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

/** Why an address cannot be had, and how to fix it. */
export function describeListenFailure(error: NodeJS.ErrnoException, { host, port }: Address): ApiChatError {
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
