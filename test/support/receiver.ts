import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that was forwarded to the receiver. */
interface Received {
  /** The header `x-apichat-delivery-id`. */
  id: string;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** The user's own program behind a responder: a real HTTP server on a free loopback port that takes everything. */
export interface Receiver {
  url: string;
  received: Received[];
  /** The status of the answers from now on. */
  answerWith(status: number): void;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const id = String(request.headers["x-apichat-delivery-id"]);
      received.push({ id, headers: request.headers, body: Buffer.concat(chunks) });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/apichat`,
    received,
    answerWith: (next) => (status = next),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
