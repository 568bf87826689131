import { timingSafeEqual } from "node:crypto";

/** The token of `Authorization: Bearer`; undefined if the header is missing or of another scheme. */
export function bearerOf(headers: Readonly<Record<string, string>>): string | undefined {
  return /^bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
}

/** Whether what a request presents is the key, in a time that does not tell how much of it is right, but for its length. */
export function isSameKey(presented: unknown, key: string): boolean {
  if (typeof presented !== "string") return false;
  const [given, right] = [Buffer.from(presented), Buffer.from(key)];
  return given.length === right.length && timingSafeEqual(given, right);
}
