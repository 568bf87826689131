/** How a secret may look in a text: plain, JSON, base64 at any offset, hex, URL-encoded. */
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

/** The base64 characters that depend on the secret alone, if it begins at this offset within a group of three bytes. */
function base64Core(bytes: Buffer, offset: number): string[] {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
  const core = encoded.slice(offset === 0 ? 0 : offset + 1, Math.floor((offset + bytes.length) / 3) * 4);
  return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
}

/** The traces of secrets in a text; empty if it is clean. */
export function findSecrets(text: string, secrets: readonly string[]): string[] {
  return secrets.flatMap(tracesOf).filter((trace) => trace.length >= 8 && text.includes(trace));
}
