/** How many characters of a foreign body an error quotes. */
export const QUOTED_CHARACTERS = 500;

const MASK = "[redacted]";

/** The ways in which an answer may give a secret back: as it is, and as the usual encoders write it. No runtime's own API. */
function encodingsOf(given: string): string[] {
  // A lone surrogate has no encoding of its own.
  const secret = given.toWellFormed();
  const bytes = new TextEncoder().encode(secret);
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const json = JSON.stringify(secret).slice(1, -1);
  const ascii = json.replace(
    /[\u0080-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return [
    given,
    secret,
    json,
    json.replaceAll("/", "\\/"),
    ascii,
    ascii.replaceAll("/", "\\/"),
    encodeURIComponent(secret),
    encodeURI(secret),
    new URLSearchParams({ s: secret }).toString().slice(2),
    escapeHtml(secret),
    base64,
    base64.replace(/=+$/, ""),
    base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, ""),
    Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""),
  ];
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Takes every secret out of a text, plain and in the usual encodings. Empty secrets are skipped. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  const variants = new Set(secrets.filter((secret) => secret !== "").flatMap(encodingsOf));
  if (variants.size === 0) return text;
  const longestFirst = [...variants].toSorted((a, b) => b.length - a.length);
  // Percent and hex encodings come in both cases, hence the flag.
  return text.replace(new RegExp(longestFirst.map(escapeRegExp).join("|"), "gi"), MASK);
}

/** Quotes a foreign text for an error: redacted, on one line, cut, and without control characters, which could drive a terminal. */
export function quote(text: string, secrets: readonly string[], characters = QUOTED_CHARACTERS): string {
  const line = redactSecrets(text, secrets)
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
  return line.length > characters ? `${line.slice(0, characters)}…` : line;
}
