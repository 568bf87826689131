import { answerError, answerHandled } from "./answers.js";
import { BODY_LIMIT_BYTES, readBody } from "./body.js";
import type { BodyFailure } from "./body.js";
import { answerHandshake, findHandshake } from "./handshake.js";
import { listKeys } from "./keys.js";
import type { KeyList, VerificationKeys } from "./keys.js";
import { reportHandlerError } from "./report.js";
import { findSigningKey, SIGNATURE_HEADER } from "./signature.js";

/** A delivery whose signature was verified (section 6.2). */
export interface Delivery {
  /** The body, parsed from JSON and not checked any further: the shapes of section 2.4. */
  message: unknown;
  /** The body as it came and as it was signed. */
  rawBody: Uint8Array;
  /** The header `x-flow-ns`: the namespace of the bot's flow. */
  flowNs: string | undefined;
  /** The header `x-action`: `messages`, as far as the specification tells. */
  action: string | undefined;
  /** Which of the verification keys has signed, counted from 0. */
  keyIndex: number;
}

/** Takes a verified delivery. It is acknowledged when this returns; when it throws or rejects, the answer is 500. */
export type DeliveryHandler = (delivery: Delivery) => void | Promise<void>;

export interface ResponderOptions {
  /** One key, or several while a key is being rotated: all of them verify deliveries and answer handshakes. */
  verificationKeys: VerificationKeys;
  onDelivery: DeliveryHandler;
  /** How large a body may be, in bytes. Default: 1 MiB. */
  bodyLimitBytes?: number;
}

/** Answers one request. It never rejects. */
export type Responder = (request: Request) => Promise<Response>;

/**
 * Makes the endpoint of a webhook URL: it answers handshakes (section 6.1) and gives verified deliveries (section 6.2)
 * to `onDelivery`. In this order: other methods than POST get 405; a body over the limit, 413; a handshake, its
 * challenge as plain text, or 401 for a wrong token and 400 for a challenge that is not at most 1 KiB of printable
 * ASCII; a wrong signature, 401; a body that is not JSON, 400; then 200. If `onDelivery` fails the answer is 500 and the error goes
 * to console.error. The body of each error is `{ "error": { "code", "message" } }`.
 *
 * Throws a TypeError for a missing or empty key, and a RangeError for a limit that is not a positive whole number.
 *
 * @example
 * const responder = createResponder({
 *   verificationKeys: process.env.VERIFICATION_KEY ?? "",
 *   onDelivery: ({ message }) => console.log(message),
 * });
 * http.createServer(toNodeListener(responder)).listen(8080);
 */
export function createResponder(options: ResponderOptions): Responder {
  const keys = listKeys(options.verificationKeys);
  const { onDelivery, bodyLimitBytes = BODY_LIMIT_BYTES } = options;
  if (!Number.isSafeInteger(bodyLimitBytes) || bodyLimitBytes < 1) {
    throw new RangeError(`bodyLimitBytes: must be a positive whole number, got ${bodyLimitBytes}`);
  }
  return (request) => respond(request, { keys, onDelivery, bodyLimitBytes });
}

interface Policy {
  keys: KeyList;
  onDelivery: DeliveryHandler;
  bodyLimitBytes: number;
}

async function respond(request: Request, policy: Policy): Promise<Response> {
  if (request.method !== "POST") {
    return answerError("method_not_allowed", "this endpoint takes POST only", { allow: "POST" });
  }
  const body = await readBody(request, policy.bodyLimitBytes);
  if (typeof body === "string") return answerError(body, BODY_FAILURES[body]);
  return answerBody(request, body, policy);
}

const BODY_FAILURES: Record<BodyFailure, string> = {
  body_too_large: "the body is larger than this endpoint takes",
  body_incomplete: "the connection broke before the whole body was there",
  body_consumed:
    "the body was read before the responder; put the responder before any body parser, because the signature is over the raw body",
};

async function answerBody(request: Request, rawBody: Uint8Array, policy: Policy): Promise<Response> {
  const text = new TextDecoder().decode(rawBody);
  const handshake = findHandshake(request.url, text);
  if (handshake !== undefined) return answerHandshake(handshake, policy.keys);

  const signature = request.headers.get(SIGNATURE_HEADER);
  const keyIndex = await findSigningKey({ verificationKeys: policy.keys, body: rawBody, signature });
  if (keyIndex < 0) return answerError("invalid_signature", describeBadSignature(signature));

  const parsed = parseJson(text);
  if (parsed === undefined) return answerError("invalid_json", "the delivery's body is not JSON");
  return handleDelivery(
    {
      message: parsed.value,
      rawBody,
      flowNs: request.headers.get("x-flow-ns") ?? undefined,
      action: request.headers.get("x-action") ?? undefined,
      keyIndex,
    },
    policy,
  );
}

async function handleDelivery(delivery: Delivery, policy: Policy): Promise<Response> {
  try {
    await policy.onDelivery(delivery);
    return answerHandled();
  } catch (error) {
    reportHandlerError(error, policy.keys);
    return answerError("handler_failed", "the delivery is valid, but handling it has failed");
  }
}

function describeBadSignature(signature: string | null): string {
  if (signature === null) return "neither a handshake nor a signed delivery: X-Hub-Signature-256 is missing";
  return "X-Hub-Signature-256 is not the signature of this body under any verification key of this endpoint";
}

function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    // The only answer to it is 400; the position of the mistake would quote the body.
    return undefined;
  }
}
