import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serveParent } from "../child.ts";

/** What a server says of itself. */
export interface ServerReport {
  url: string;
  /** After a collection, if the process can be told to collect. */
  heapBytes: number;
  /** What its process has computed so far, in milliseconds. */
  cpuMs: number;
}

/** Listens on a free loopback port, and reports to the parent. */
export function serveBench(server: Server): void {
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    serveParent((): ServerReport => {
      globalThis.gc?.();
      const { user, system } = process.cpuUsage();
      return { url, heapBytes: process.memoryUsage().heapUsed, cpuMs: (user + system) / 1000 };
    });
  });
}
