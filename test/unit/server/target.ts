import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

interface Received {
  id: string;
  /** In the case and order in which they came. */
  headers: [name: string, value: string][];
  body: Buffer;
  path: string;
  atMs: number;
}

/** Answers one request; the index counts requests from 0. */
export type Answer = (request: Received, response: ServerResponse, index: number) => void;

export interface Target {
  url: string;
  received: Received[];
  close: () => void;
}

/** What deliveries are forwarded to: a real HTTP server on a free loopback port, gone after the test. */
export async function startTarget(
  answer: Answer = (_, response) => response.end(),
  port = 0,
): Promise<Target> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const one = describe(request, Buffer.concat(chunks));
      answer(one, response, received.push(one) - 1);
    });
  });
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const { port: taken } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${taken}/in`, received, close };
}

function describe({ rawHeaders, headers, url = "" }: IncomingMessage, body: Buffer): Received {
  const pairs = Array.from({ length: rawHeaders.length / 2 }, (_, index): [string, string] => [
    rawHeaders[index * 2] ?? "",
    rawHeaders[index * 2 + 1] ?? "",
  ]);
  return { id: String(headers["x-apichat-delivery-id"]), headers: pairs, body, path: url, atMs: Date.now() };
}
