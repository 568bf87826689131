import type { RequestHead } from "./request.js";

/** A verification key or a body. A string is used as its UTF-8 bytes. */
export type KeyOrBody = string | Uint8Array;

/** One verification key, or several during a rotation: the first one signs, all of them verify. */
export type VerificationKeys = KeyOrBody | readonly KeyOrBody[];

/** A function that returns the keys for each request. */
export type VerificationKeyFunction = (request: RequestHead) => VerificationKeys | Promise<VerificationKeys>;

/** Verification keys, or a function that returns them. */
export type VerificationKeySource = VerificationKeys | VerificationKeyFunction;

/** How many keys a workspace may have. Limited, because a wrong signature is checked against each of them. */
const MAX_KEYS = 32;

export const problemOfKeyCount = (count: number): string | undefined =>
  count <= MAX_KEYS
    ? undefined
    : `must be at most ${MAX_KEYS} keys, got ${count}, derived ones included; ` +
      "remove the keys that no longer sign deliveries";

/** Verification keys that have been checked: at least one, at most {@link MAX_KEYS}, none of them empty. */
export type KeyList = readonly [KeyOrBody, ...KeyOrBody[]];

const isKeyOrBody = (value: unknown): value is KeyOrBody =>
  typeof value === "string" || value instanceof Uint8Array;

/**
 * Returns the keys as a list. Throws a TypeError if there is no key, if there are more than {@link MAX_KEYS}, or if one
 * is empty, for example because an environment variable is not set: with an empty key, anyone could sign.
 */
export function listKeys(verificationKeys: VerificationKeys): KeyList {
  const keys: readonly KeyOrBody[] = isKeyOrBody(verificationKeys) ? [verificationKeys] : verificationKeys;
  const isList =
    Array.isArray(keys) && keys.length > 0 && keys.every((key) => isKeyOrBody(key) && key.length > 0);
  const problem = isList
    ? problemOfKeyCount(keys.length)
    : "pass a non-empty string or Uint8Array, or a non-empty list of these";
  if (problem !== undefined) throw new TypeError(`verificationKeys: ${problem}`);
  return keys as KeyList;
}

export function assertRawBody(body: unknown): asserts body is KeyOrBody {
  if (isKeyOrBody(body)) return;
  throw new TypeError("body: pass the raw request body as a string or Uint8Array, not a parsed one");
}
