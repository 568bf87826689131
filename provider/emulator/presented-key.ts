import { createHash, timingSafeEqual } from "node:crypto";

/** The token of `Authorization: Bearer`; undefined if the header is missing or of another scheme. */
export function bearerOf(headers: Readonly<Record<string, string>>): string | undefined {
  return /^bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
}

/** Whether what a request presents is the key, in a time that does not tell how much of it is right. */
export function isSameKey(presented: unknown, key: string): boolean {
  return typeof presented === "string" && timingSafeEqual(digest(presented), digest(key));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
