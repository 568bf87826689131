import type { AddressInfo, Server, Socket } from "node:net";

/** A server on 127.0.0.1. Closing it ends every connection. */
export interface Listening {
  /** The origin, such as `http://127.0.0.1:8080`. */
  url: string;
  port: number;
  close: () => Promise<void>;
}

/** Starts a server on loopback, by default on a free port. */
export async function listen(server: Server, scheme = "http", wanted = 0): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A client that disconnects resets its connection; that is not a failure of the server.
    socket.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(wanted, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    return closed;
  };
  return { url: `${scheme}://127.0.0.1:${port}`, port, close };
}
