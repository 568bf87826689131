import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Systems cut the path of a socket off after 104 (macOS) or 108 (Linux) bytes with its final zero. */
const LONGEST_SOCKET_PATH = 103;
const FOLDER = "apichat-gate-";

/** A socket that only processes of this user can reach. */
export interface GateSocket {
  path: string;
  /** Ends every connection, and removes the socket with its folder. */
  close(): Promise<void>;
}

/** Listens on a socket in a folder of its own, or on Windows on a named pipe. */
export async function openGateSocket(onConnection: (socket: Socket) => void): Promise<GateSocket> {
  const { path, remove } = await makePlace();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    onConnection(socket);
  });
  try {
    await listen(server, path);
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    path,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
      await remove();
    },
  };
}

async function makePlace(): Promise<{ path: string; remove: () => Promise<void> }> {
  if (process.platform === "win32") {
    return { path: String.raw`\\.\pipe\${FOLDER}${randomUUID()}`, remove: async () => undefined };
  }
  // mkdtemp makes it with the mode 0700.
  const folder = await mkdtemp(join(shortTemporaryFolder(), FOLDER));
  return { path: join(folder, "gate"), remove: () => rm(folder, { recursive: true, force: true }) };
}

function shortTemporaryFolder(): string {
  const longest = join(tmpdir(), `${FOLDER}XXXXXX`, "gate");
  return Buffer.byteLength(longest) <= LONGEST_SOCKET_PATH ? tmpdir() : "/tmp";
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
