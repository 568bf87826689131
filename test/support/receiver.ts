import { startServer, type Listening } from "./http.ts";

/** A request that a responder forwarded. */
interface Received {
  /** The value of the header `x-apichat-delivery-id`. */
  id: string;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** Plays the user's program behind a responder: an HTTP server that accepts every request. */
export interface Receiver extends Listening {
  received: Received[];
  /** Changes the status of its responses. */
  answerWith(status: number): void;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let status = 200;
  const server = await startServer(({ headers, bytes }, response) => {
    received.push({ id: String(headers["x-apichat-delivery-id"]), headers, body: bytes });
    response.writeHead(status).end();
  });
  return {
    ...server,
    url: `${server.url}/apichat`,
    received,
    answerWith: (next) => (status = next),
  };
}
