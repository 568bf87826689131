import type { KeyList, KeyOrBody } from "./keys.js";

const ALGORITHM = { name: "HMAC", hash: "SHA-256" };

const encoder = new TextEncoder();

export async function signHmac(key: KeyOrBody, body: KeyOrBody): Promise<string> {
  const mac = await crypto.subtle.sign("HMAC", await importKey(key), toBytes(body));
  return Array.from(new Uint8Array(mac), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the index of the first key under which `macHex` is the HMAC of a body, or -1. Takes constant time. */
export async function findSigner(keys: KeyList, body: KeyOrBody, macHex: string): Promise<number> {
  const mac = Uint8Array.from(macHex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
  const bytes = toBytes(body);
  for (const [index, key] of keys.entries()) {
    if (await crypto.subtle.verify("HMAC", await importKey(key), mac, bytes)) return index;
  }
  return -1;
}

const importKey = (key: KeyOrBody) =>
  crypto.subtle.importKey("raw", toBytes(key), ALGORITHM, false, ["sign", "verify"]);

const toBytes = (value: KeyOrBody): Uint8Array => (typeof value === "string" ? encoder.encode(value) : value);
