import type { RequestListener } from "node:http";
import { createResponder, type Delivery } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { startListener, type Listening } from "./http.ts";

/** Every path of its origin reaches the same listener. */
export interface Endpoint extends Listening {
  /** Every request: method and path. */
  requests: string[];
  deliveries: Delivery[];
  /** Replaces the listener. */
  answerWith(listener: RequestListener): void;
  /** Delays every request until the function that it returns is called. */
  hold(): () => void;
}

/**
 * A real HTTP server on a free loopback port. It responds as the responder with these keys does, until its
 * listener is replaced.
 */
export async function startEndpoint(
  options: { keys?: string | string[]; port?: number } = {},
): Promise<Endpoint> {
  const deliveries: Delivery[] = [];
  const requests: string[] = [];
  let answer: RequestListener = toNodeListener(
    createResponder({
      verificationKeys: options.keys ?? VERIFICATION_KEY,
      onDelivery: (delivery) => void deliveries.push(delivery),
    }),
  );
  const listening = await startListener((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(request, response);
  }, options);
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = answer;
    answer = (request, response) => void promise.then(() => before(request, response));
    return resolve;
  };
  return { ...listening, requests, deliveries, answerWith: (next) => (answer = next), hold };
}

/** The secrets of the tests contain characters that every encoding writes differently. */
export const VERIFICATION_KEY = 'vk/acme+test=&<secret>"ü"-0123456789';
export const API_KEY = 'ak/system+test=&<secret>"ü"-0123456789';
