import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto";
import type { KeyList, KeyOrBody } from "./keys.js";

/** Computes the HMAC-SHA-256 of a body, in lower-case hex. */
export const signHmac: (key: KeyOrBody, body: KeyOrBody) => string | Promise<string> = computeHmac;

/**
 * Both are reused, because nothing runs between filling and comparing them. New ones take a tenth of a short
 * body's time.
 */
const [givenMac, computedMac] = [Buffer.alloc(64), Buffer.alloc(64)];

/**
 * Returns the index of the first key under which `macHex`, 64 lower-case hex digits, is the HMAC-SHA-256 of a body, or
 * -1. Each comparison takes constant time.
 */
export function findSigner(keys: KeyList, body: KeyOrBody, macHex: string): number | Promise<number> {
  givenMac.write(macHex, "latin1");
  return keys.findIndex((key) => {
    computedMac.write(computeHmac(key, body), "latin1");
    return timingSafeEqual(computedMac, givenMac);
  });
}

function computeHmac(key: KeyOrBody, body: KeyOrBody): string {
  // Measured: raw bytes take three times as long as a key object, and a Buffer digest a fifth longer than a text.
  const secret = typeof key === "string" ? key : createSecretKey(key);
  return createHmac("sha256", secret).update(body).digest("hex");
}
