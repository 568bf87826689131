import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createResponder, type Delivery } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";

export { freePort } from "./free-port.ts";

export interface Endpoint {
  /** The origin; every path reaches the same listener. */
  url: string;
  /** Every request: method and path. */
  requests: string[];
  deliveries: Delivery[];
  /** Changes what answers from now on. */
  answerWith(listener: RequestListener): void;
  close(): Promise<void>;
}

/** A real HTTP server on a free loopback port. Answers as the responder with these keys, until told otherwise. */
export async function startEndpoint(
  options: { keys?: string | string[]; port?: number } = {},
): Promise<Endpoint> {
  const deliveries: Delivery[] = [];
  const requests: string[] = [];
  let listener: RequestListener = toNodeListener(
    createResponder({
      verificationKeys: options.keys ?? VERIFICATION_KEY,
      onDelivery: (delivery) => void deliveries.push(delivery),
    }),
  );
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    requests.push(`${request.method} ${request.url}`);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    deliveries,
    answerWith: (next) => (listener = next),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The secrets of the tests hold characters that every encoding writes in another way. */
export const VERIFICATION_KEY = 'vk/acme+test=&<secret>"ü"-0123456789';
export const API_KEY = 'ak/system+test=&<secret>"ü"-0123456789';
