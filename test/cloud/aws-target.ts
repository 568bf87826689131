import type { IncomingHttpHeaders } from "node:http";
import { startServer } from "../support/http.ts";

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
}

const takeAll: Target["answerWith"] = () => ({ status: 200 });

export async function startTarget(): Promise<Target> {
  const { url } = await startServer(({ method, path, headers, bytes }, response) => {
    const noted = { method, url: path, headers, body: bytes, id: headers["x-apichat-delivery-id"] };
    target.requests.push(noted);
    const { status, headers: answered } = target.answerWith(noted);
    response.writeHead(status, answered).end("answered");
  });
  const target: Target = {
    url,
    requests: [],
    answerWith: takeAll,
    reset: () => {
      target.requests.length = 0;
      target.answerWith = takeAll;
    },
  };
  return target;
}
