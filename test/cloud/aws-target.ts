import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** What a target was sent. */
interface TargetRequest {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** The header `x-apichat-delivery-id`. */
  id: unknown;
}

/** Where deliveries are forwarded to: a real server that notes what comes. */
export interface Target {
  url: string;
  requests: TargetRequest[];
  /** What it answers; 200 until told otherwise. */
  answerWith: (request: TargetRequest) => { status: number; headers?: Record<string, string> };
  reset(): void;
  close(): Promise<void>;
}

const takeAll: Target["answerWith"] = () => ({ status: 200 });

export async function startTarget(): Promise<Target> {
  const server = createServer((request, response) => void answer(target, request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const target: Target = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    answerWith: takeAll,
    reset: () => {
      target.requests.length = 0;
      target.answerWith = takeAll;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return target;
}

async function answer(target: Target, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url, headers } = request;
  const noted = { method, url, headers, body: await buffer(request), id: headers["x-apichat-delivery-id"] };
  target.requests.push(noted);
  const { status, headers: answered } = target.answerWith(noted);
  response.writeHead(status, answered).end("answered");
}
