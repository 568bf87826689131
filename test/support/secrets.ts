/** The forms in which a text may contain a secret: plain, JSON, base64 at any offset, hex, URL-encoded. */
function tracesOf(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    new URLSearchParams({ s: secret }).toString().slice(2),
    bytes.toString("hex"),
    ...[0, 1, 2].flatMap((offset) => base64Core(bytes, offset)),
  ];
}

/** The base64 and base64url characters that encode only a secret at this offset in a group of 3 bytes. */
function base64Core(bytes: Buffer, offset: number): string[] {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
  const core = encoded.slice(offset === 0 ? 0 : offset + 1, Math.floor((offset + bytes.length) / 3) * 4);
  return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
}

/** Returns the forms of these secrets that a text contains, except forms that are too short to tell. */
export function findSecrets(text: string, secrets: readonly string[]): string[] {
  return secrets.flatMap(tracesOf).filter((trace) => trace.length >= 8 && text.includes(trace));
}

const jsonOf = (text: string): string => JSON.stringify(text).slice(1, -1);

/** The spellings of a secret that redaction removes from a text. */
export const SPELLINGS: Record<string, (secret: string) => string> = {
  "as it is": (secret) => secret,
  "in upper case": (secret) => secret.toUpperCase(),
  "in lower case": (secret) => secret.toLowerCase(),
  "as JSON": jsonOf,
  "as JSON within JSON": (secret) => jsonOf(jsonOf(secret)),
  "as PHP's JSON, with \\/ and \\u00fc": (secret) =>
    jsonOf(secret).replaceAll("/", "\\/").replaceAll("ü", "\\u00fc"),
  "URL-encoded": encodeURIComponent,
  "URL-encoded in lower case": (secret) =>
    encodeURIComponent(secret).replace(/%../g, (escape) => escape.toLowerCase()),
  "in a URL's path": encodeURI,
  "as a form": (secret) => new URLSearchParams({ s: secret }).toString().slice(2),
  "in base64": (secret) => Buffer.from(secret).toString("base64"),
  "in base64url": (secret) => Buffer.from(secret).toString("base64url"),
  "in the base64 of a request": (secret) => Buffer.from(`{"key":"${secret}","a":""}`).toString("base64"),
  "in base64url after other text": (secret) => Buffer.from(`a${secret}`).toString("base64url"),
  "in hex": (secret) => Buffer.from(secret).toString("hex"),
  "in upper-case hex": (secret) => Buffer.from(secret).toString("hex").toUpperCase(),
};
