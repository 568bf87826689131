import { findSigner, signHmac } from "#hmac";
import { assertRawBody, listKeys, type KeyList, type KeyOrBody, type VerificationKeys } from "./keys.js";

/** The header that carries the signature of a delivery (section 6.2). */
export const SIGNATURE_HEADER = "x-hub-signature-256";

/** Does not check the length, because counting in a regular expression takes twice as long. */
const SIGNATURE_GRAMMAR = /^sha256=[0-9a-f]+$/;
const PREFIX_CHARACTERS = "sha256=".length;
const SIGNATURE_CHARACTERS = PREFIX_CHARACTERS + 64;

/** A body with its signature, and the keys that may have signed it. */
export interface VerifySignatureOptions {
  /** The keys, any of which may have signed the body. */
  verificationKeys: VerificationKeys;
  /** The raw request body, before anything has parsed it. */
  body: string | Uint8Array;
  /** The value of the header `X-Hub-Signature-256`; may be missing or malformed. */
  signature: unknown;
}

/**
 * Signs a body as the service does (section 5): `sha256=` and the HMAC-SHA-256 in 64 lower-case hex digits. Signs with
 * the first of several keys. Rejects with a TypeError for an empty key, for more than 32 keys and for a body that is
 * neither text nor bytes.
 *
 * @example const signature = await signBody("my verification key", JSON.stringify(message));
 */
export async function signBody(key: VerificationKeys, body: string | Uint8Array): Promise<string> {
  const [signingKey] = listKeys(key);
  assertRawBody(body);
  return `sha256=${await signHmac(signingKey, body)}`;
}

/**
 * Returns whether one of the keys signed the body (section 5), in constant time. The result is `false` for a signature
 * that is missing or not exactly `sha256=` and 64 lower-case hex digits. Rejects with a TypeError for an empty key, for
 * more than 32 keys and for a body that is neither text nor bytes: the program's mistakes, not the sender's.
 *
 * @example
 * const signature = request.headers.get("x-hub-signature-256");
 * if (!(await verifySignature({ verificationKeys, body, signature }))) return new Response(null, { status: 401 });
 */
export async function verifySignature(options: VerifySignatureOptions): Promise<boolean> {
  const { verificationKeys, body, signature } = options;
  const keys = listKeys(verificationKeys);
  assertRawBody(body);
  const signer = findSigningKey(keys, body, signature);
  return (typeof signer === "number" ? signer : await signer) >= 0;
}

/** Returns no promise if the runtime's HMAC is synchronous: with a short body, it would cost a tenth of the time. */
export const findSigningKey = (
  keys: KeyList,
  body: KeyOrBody,
  signature: unknown,
): number | Promise<number> =>
  isSignature(signature) ? findSigner(keys, body, signature.slice(PREFIX_CHARACTERS)) : -1;

export const isSignature = (value: unknown): value is string =>
  typeof value === "string" && value.length === SIGNATURE_CHARACTERS && SIGNATURE_GRAMMAR.test(value);

/** Returns the index of the key that equals the token, or -1. Compares their HMACs, so the time reveals nothing. */
export async function findEqualKey(keys: KeyList, token: string): Promise<number> {
  const equals = keys.map(async (key) => (await findSigner([key], token, await signHmac(key, key))) >= 0);
  return (await Promise.all(equals)).indexOf(true);
}
