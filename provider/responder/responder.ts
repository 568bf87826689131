import { type Answer, answerChallenge, answerError, answerUnavailable, UnavailableError } from "./answers.js";
import { type Delivery, parseMessage } from "./delivery.js";
import { findHandshake, type Handshake, type ReceivedHandshake, shortTextOf } from "./handshake.js";
import {
  type KeyList,
  type KeyOrBody,
  listKeys,
  type VerificationKeyFunction,
  type VerificationKeySource,
} from "./keys.js";
import {
  BODY_LIMIT_BYTES,
  type BodyFailure,
  findWaitUntil,
  fromRequest,
  type IncomingRequest,
  pathOf,
  type RequestHead,
  type WaitUntil,
} from "./request.js";
import { findEqualKey, findSigningKey, isSignature, SIGNATURE_HEADER } from "./signature.js";
import { createRedactor } from "../lib/redact.js";

/** What a handler receives in addition to its delivery. */
export interface DeliveryContext {
  /** The request that carried the delivery. */
  request: RequestHead;
  /**
   * Continues work after the response: Workers and Lambda keep the instance alive for it. A failure is reported on
   * stderr. The delivery is acknowledged before the work is done, so do not use this for work that must not be lost.
   */
  waitUntil: WaitUntil;
}

/** Handles a verified delivery. If this throws, the response is 500 or 503; else the delivery is acknowledged. */
export type DeliveryHandler = (delivery: Delivery, context: DeliveryContext) => void | Promise<void>;

/** The keys of an endpoint, and what it does with deliveries. */
export interface ResponderOptions {
  /**
   * One key, or up to 32 while keys are being rotated: all of them verify deliveries and answer handshakes. A
   * function is called for each request.
   */
  verificationKeys: VerificationKeySource;
  /** Called for each delivery with a valid signature, before it is acknowledged. */
  onDelivery: DeliveryHandler;
  /** Called for each valid handshake, before the response. If it throws, the response is 500. */
  onHandshake?: (handshake: Handshake) => void | Promise<void>;
  /** The maximum size of a body, in bytes. Default: 1 MiB. */
  bodyLimitBytes?: number;
  /** The endpoint's path, such as "/webhooks/apichat"; any other gets 404. Default: accepts every path. */
  path?: string;
}

/** What an adapter may pass in addition to a request. */
export interface AnswerContext {
  /** Keeps the instance alive for work after the response. By default, nothing does. */
  waitUntil?: WaitUntil | undefined;
}

/** Answers one request and never rejects. Called as a function, it takes the web's Request and returns a Response. */
export interface Responder {
  /** `runtime` is what Workers, Bun and Deno pass in addition to the request. */
  (request: Request, ...runtime: unknown[]): Promise<Response>;
  /** The same for adapters, with this package's request and response types instead of the web's. */
  answer(request: IncomingRequest, context?: AnswerContext): Promise<Answer>;
}

/**
 * Creates the endpoint of a webhook URL: it answers handshakes (section 6.1) and passes verified deliveries
 * (section 6.2) to `onDelivery`. It responds, in this order, with 404 to a wrong path, 405 to a method other than POST,
 * 415 to a compressed body, 401 to a malformed signature (before it reads the body), and 413 to a body over the limit.
 * Then a handshake (a body of at most 8 KiB, or the query) gets 401 if the token is wrong, 400 if the challenge is over
 * 1 KiB or not printable ASCII, else its challenge as plain text. Any other request gets 401 if the signature is
 * wrong, 400 if the body is not JSON, 503 if `onDelivery` throws an {@link UnavailableError}, 500 if it throws another
 * error, which is printed to stderr, else 200. An error response's body is `{ "error": { "code", "message" } }`.
 *
 * Throws a TypeError for a missing or empty key, more than 32 keys, an invalid path or an unknown option, and a
 * RangeError for a limit that is not a positive whole number.
 *
 * @example
 * const verificationKeys = process.env.VERIFICATION_KEY ?? "";
 * const responder = createResponder({ verificationKeys, onDelivery: ({ kind }) => console.log(kind) });
 * http.createServer(toNodeListener(responder)).listen(8080);
 * export default { fetch: responder }; // On Workers, Bun and Deno.
 */
export function createResponder(options: ResponderOptions): Responder {
  const policy = toPolicy(options);
  const answer = (request: IncomingRequest, context?: AnswerContext): Promise<Answer> =>
    respond(request, policy, context?.waitUntil);
  const responder = async (request: Request, ...runtime: unknown[]): Promise<Response> => {
    const { status, headers, body } = await respond(fromRequest(request), policy, findWaitUntil(runtime));
    return new Response(body === "" ? null : body, { status, headers });
  };
  return Object.assign(responder, { answer });
}

interface Policy extends Pick<ResponderOptions, "onHandshake" | "onDelivery"> {
  path: string | undefined;
  bodyLimitBytes: number;
  keys: KeyList | VerificationKeyFunction;
}

interface KeyedRequest extends Pick<Policy, "onHandshake" | "onDelivery">, AnswerContext {
  request: RequestHead;
  keys: KeyList;
}

/** Printable ASCII without "?" and "#": only that can equal a request's path, which is compared without decoding. */
const PATH_GRAMMAR = /^\/[!"$->@-~]*$/;

function toPolicy(options: ResponderOptions): Policy {
  const { verificationKeys, bodyLimitBytes = BODY_LIMIT_BYTES, path, ...handlers } = options;
  rejectMisspelt(handlers);
  if (!Number.isSafeInteger(bodyLimitBytes) || bodyLimitBytes < 1) {
    throw new RangeError(`bodyLimitBytes: must be a positive whole number, got ${bodyLimitBytes}`);
  }
  if (path !== undefined && !PATH_GRAMMAR.test(path)) {
    throw new TypeError(
      `path: must start with "/", be percent-encoded and have no query, got ${JSON.stringify(path)}`,
    );
  }
  return {
    ...handlers,
    keys: typeof verificationKeys === "function" ? verificationKeys : listKeys(verificationKeys),
    bodyLimitBytes,
    path,
  };
}

/** A misspelt option would be ignored, and a missing handler would fail only at the first delivery. */
function rejectMisspelt({ onDelivery, onHandshake, ...unknown }: Partial<ResponderOptions>): void {
  const [name] = Object.keys(unknown);
  if (name !== undefined) {
    throw new TypeError(
      `${name}: unknown option; the options are verificationKeys, onDelivery, onHandshake, bodyLimitBytes, path`,
    );
  }
  if (typeof onDelivery !== "function") throw new TypeError("onDelivery: must be a function");
  if (onHandshake !== undefined && typeof onHandshake !== "function") {
    throw new TypeError("onHandshake: must be a function");
  }
}

async function respond(
  request: IncomingRequest,
  policy: Policy,
  waitUntil: WaitUntil | undefined,
): Promise<Answer> {
  const rejection = judgeHead(request, policy);
  if (rejection !== undefined) return rejection;
  const body = await request.readBody(policy.bodyLimitBytes);
  if (typeof body === "string") return answerError(body, BODY_FAILURES[body]);
  const keys = typeof policy.keys === "function" ? await askForKeys(request, policy.keys) : policy.keys;
  return keys === undefined
    ? KEYS_UNAVAILABLE
    : await answerBody(body, { ...policy, request, keys, waitUntil });
}

function judgeHead(request: RequestHead, { path }: Policy): Answer | undefined {
  if (path !== undefined && pathOf(request.url) !== path) {
    return answerError("not_found", "nothing here; check the path of the webhook URL");
  }
  if (request.method !== "POST") {
    return answerError("method_not_allowed", "this endpoint accepts only POST", { allow: "POST" });
  }
  const encoding = request.header("content-encoding") ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    return answerError("unsupported_media_type", "this endpoint does not accept compressed bodies", {
      "accept-encoding": "identity",
    });
  }
  const signature = request.header(SIGNATURE_HEADER);
  return signature === undefined || isSignature(signature)
    ? undefined
    : answerError("invalid_signature", "X-Hub-Signature-256 must be sha256= and 64 lower-case hex digits");
}

const BODY_FAILURES: Record<BodyFailure, string> = {
  body_too_large: "the body is larger than this endpoint accepts",
  body_incomplete: "the connection was lost before the whole body arrived",
  body_consumed:
    "the body was read before the responder, but the signature is over the raw body; " +
    "put the responder before any body parser, or let the parser keep the bytes (Express: " +
    "express.raw({ type: () => true }))",
};

const KEYS_UNAVAILABLE = answerError("keys_unavailable", "the verification keys are not available");

async function askForKeys(request: RequestHead, ask: VerificationKeyFunction): Promise<KeyList | undefined> {
  try {
    return listKeys(await ask(request));
  } catch (error) {
    reportError("verificationKeys", error, []);
    return undefined;
  }
}

const UNSIGNED = "neither a handshake nor a signed delivery: X-Hub-Signature-256 is missing";
const OTHER_SIGNATURE =
  "X-Hub-Signature-256 is not the signature of this body under any verification key of this endpoint";

const decoder = new TextDecoder();

async function answerBody(body: Uint8Array, exchange: KeyedRequest): Promise<Answer> {
  const { request, keys } = exchange;
  const shortText = shortTextOf(body);
  const handshake = findHandshake(request.url, shortText);
  if (handshake !== undefined) return answerHandshake(handshake, exchange);

  const signature = request.header(SIGNATURE_HEADER);
  const signer = findSigningKey(keys, body, signature);
  // On Node, the result is synchronous. Not awaiting it saves much of a request's time.
  const keyIndex = typeof signer === "number" ? signer : await signer;
  if (keyIndex < 0)
    return answerError("invalid_signature", signature === undefined ? UNSIGNED : OTHER_SIGNATURE);

  const tagged = parseMessage(shortText || decoder.decode(body));
  if (tagged === undefined) return answerError("invalid_json", "the delivery's body is not JSON");
  const flowNs = request.header("x-flow-ns");
  const action = request.header("x-action");
  return await answerDelivery({ ...tagged, rawBody: body, flowNs, action, keyIndex }, exchange);
}

/** At most 1 KiB of printable ASCII: enough for any challenge, too little to abuse this endpoint as an echo. */
const CHALLENGE_GRAMMAR = /^[\x20-\x7e]{1,1024}$/;

async function answerHandshake(
  { encoding, token, challenge }: ReceivedHandshake,
  { keys, onHandshake }: KeyedRequest,
): Promise<Answer> {
  const keyIndex = await findEqualKey(keys, token);
  if (keyIndex < 0)
    return answerError("invalid_token", "hub_verify_token is not the verification key of this endpoint");
  if (!CHALLENGE_GRAMMAR.test(challenge))
    return answerError("invalid_challenge", "hub_challenge must be 1 to 1024 characters of printable ASCII");
  try {
    await onHandshake?.({ encoding, keyIndex });
    return answerChallenge(challenge);
  } catch (error) {
    reportError("onHandshake", error, keys);
    return answerError("handler_failed", "the handshake is valid, but its handler failed");
  }
}

async function answerDelivery(
  delivery: Delivery,
  { request, keys, onDelivery, waitUntil }: KeyedRequest,
): Promise<Answer> {
  const continueWork: WaitUntil = (promise) => {
    const reported = promise.catch((error: unknown) => reportError("work after the response", error, keys));
    waitUntil?.(reported);
  };
  try {
    await onDelivery(delivery, { request, waitUntil: continueWork });
    return { status: 200, headers: {}, body: "" };
  } catch (error) {
    if (error instanceof UnavailableError) return answerUnavailable(error);
    reportError("onDelivery", error, keys);
    return answerError("handler_failed", "the delivery is valid, but its handler failed");
  }
}

const CAUSES_SHOWN = 5;

/** Redacts the keys. Prints only stacks, because other properties of HTTP errors contain whole requests. */
function reportError(source: string, error: unknown, verificationKeys: readonly KeyOrBody[]): void {
  const secrets = verificationKeys.map((key) => (typeof key === "string" ? key : decoder.decode(key)));
  console.error(createRedactor(secrets)(`apichat responder: ${source} failed: ${describeError(error)}`));
}

function describeError(error: unknown): string {
  const lines: string[] = [];
  for (let one = error; one instanceof Error && lines.length < CAUSES_SHOWN; one = one.cause)
    lines.push(one.stack ?? String(one));
  // Other thrown values are shown only if they are strings, because some cannot be converted to a string.
  const thrown = typeof error === "string" ? error : typeof error;
  return lines.length > 0 ? lines.join("\ncaused by: ") : `thrown: ${thrown}`;
}
