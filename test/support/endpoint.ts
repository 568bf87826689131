import type { RequestListener } from "node:http";
import { createResponder, type Delivery } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { startListener, type Listening } from "./http.ts";

/** A test server on which every path reaches the same listener. */
export interface Endpoint extends Listening {
  deliveries: Delivery[];
  /** Replaces the listener. */
  answerWith(listener: RequestListener): void;
  /** Responds as a responder with these keys does. */
  accept(...keys: string[]): void;
}

/** A real HTTP server on a free loopback port. It acts like a responder until its listener is replaced. */
export async function startEndpoint({ keys = VERIFICATION_KEY } = {}): Promise<Endpoint> {
  const deliveries: Delivery[] = [];
  const onDelivery = (delivery: Delivery): void => void deliveries.push(delivery);
  let answer: RequestListener;
  const answerWith = (listener: RequestListener): void => void (answer = listener);
  const accept = (...verificationKeys: string[]): void =>
    answerWith(toNodeListener(createResponder({ verificationKeys, onDelivery })));
  accept(keys);
  const listening = await startListener((request, response) => answer(request, response));
  return { ...listening, deliveries, answerWith, accept };
}

/** The tests' secrets contain characters that JSON and URLs escape. */
export const VERIFICATION_KEY = 'vk/acme+test=&<secret>"ü"-0123456789';
export const API_KEY = 'ak/system+test=&<secret>"ü"-0123456789';
