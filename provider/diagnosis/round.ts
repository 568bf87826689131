import type { HandshakeEncoding, HandshakeStep } from "../errors/index.js";
import { secretsOfUrl } from "../lib/url.js";
import { createChallenge, numberOf } from "./challenge.js";
import { performHandshake, type HandshakeRequest } from "./handshake.js";

/** How long one handshake may take at most, in milliseconds. */
const LONGEST_ANSWER_MS = 10_000;

/** One handshake and what came of it. */
export interface Sent {
  request: HandshakeRequest;
  step: HandshakeStep;
}

export interface RoundOptions {
  url: string;
  verificationKey: string;
  /** How long each handshake may take, in milliseconds. Default 10,000. */
  limitMs?: number;
  signal?: AbortSignal;
}

/**
 * Sends form and JSON at once, a multipart form if both fail, and the query only if that fails too: a key in a URL ends up in
 * the endpoint's access log.
 */
export async function sendInEveryEncoding(options: RoundOptions): Promise<Sent[]> {
  const requests = createRequests(options);
  const sent = await Promise.all([send(requests.form), send(requests.json)]);
  for (const request of [requests.multipart, requests.query]) {
    if (sent.some(({ step }) => step.rule === undefined)) break;
    sent.push(await send(request));
  }
  return sent;
}

async function send(request: HandshakeRequest): Promise<Sent> {
  return { request, step: await performHandshake(request) };
}

function createRequests(options: RoundOptions): Record<HandshakeEncoding, HandshakeRequest> {
  const { url, verificationKey: token, limitMs = LONGEST_ANSWER_MS, signal } = options;
  const challenges = {
    form: createChallenge(),
    json: createChallenge(),
    multipart: createChallenge(),
    query: createChallenge(),
  };
  const made = Object.values(challenges);
  // All of them in each step: an endpoint that caches answers with the challenge of another one.
  const secrets = [token, ...made, ...made.map(numberOf), ...secretsOfUrl(url)];
  const create = (encoding: HandshakeEncoding): HandshakeRequest => {
    return { url, encoding, token, challenge: challenges[encoding], limitMs, signal, secrets };
  };
  return {
    form: create("form"),
    json: create("json"),
    multipart: create("multipart"),
    query: create("query"),
  };
}
