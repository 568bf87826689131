import { toShortText } from "./plain-text.js";

/** How many characters of an untrusted body an error quotes. */
const QUOTED_CHARACTERS = 500;

export const MASK = "[redacted]";

/** Shorter pieces of base64 or hex also occur in harmless texts. */
const TELLING_CHARACTERS = 8;

/** Secrets are compared in pieces of this length, which limits the work at each position of a text. */
const PIECE_CHARACTERS = 32;

const WHOLE_PIECES = new RegExp(`.{${PIECE_CHARACTERS}}`, "gs");

/** How many characters of a text must match the start of a piece before whole pieces are compared. */
const HEAD_CHARACTERS = 8;

/** Redacts the secrets that it was created for. It never throws. */
export type Redact = (text: string) => string;

/** Quotes an untrusted text for an error: redacted, shortened, and on one line. */
export const quote = (text: string, secrets: readonly string[], characters = QUOTED_CHARACTERS): string =>
  toQuote(createRedactor(secrets)(text), characters);

const toQuote = (text: string, characters: number): string =>
  toShortText(text.replace(/\s+/g, " ").trim(), characters);

/** Where an unknown secret may start in an untrusted text: in a query, at an escape, or at a key's field name. */
const MAY_BE_SECRET = /[?=](?=[^\s=])|[\\%&]|webhook_verification_key/i;

const KEY_FIELD = "webhook_verification_key";

/**
 * Like {@link quote}, but for an untrusted body, which may contain unknown keys, or URLs with unknown tokens. So each
 * of its strings is cut where a secret may start. A body that is not JSON is treated as one string.
 */
export function quoteBody(body: string, redact: Redact, characters = QUOTED_CHARACTERS): string {
  const hide = (text: string): string => {
    const clean = redact(text);
    const start = clean.search(MAY_BE_SECRET);
    return start < 0 ? clean : `${clean.slice(0, start)}…`;
  };
  return toQuote(redact(mapTexts(body, hide) ?? hide(body)), characters);
}

/** Maps the strings in JSON, and masks verification keys. Undefined if the JSON is invalid or nested too deeply. */
function mapTexts(json: string, map: (text: string) => string): string | undefined {
  const replace = (_: string, value: unknown): unknown => {
    if (typeof value === "string") return map(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    const entries = Object.entries(value);
    return Object.fromEntries(
      entries.map(([name, inner]) => (name === KEY_FIELD ? [name, MASK] : [map(name), inner])),
    );
  };
  try {
    return JSON.stringify(JSON.parse(json), replace);
  } catch {
    return undefined;
  }
}

/**
 * Creates a function that redacts secrets in a text, even if they are in upper or lower case, or encoded as JSON,
 * URL, form, base64, base64url or hex. The search is prepared by the first call: most operations make none.
 * Redacting a text then takes linear time, whatever the number and content of the secrets. Empty secrets are skipped.
 */
export function createRedactor(secrets: readonly string[]): Redact {
  let pieces: Pieces | undefined;
  return (text) => {
    try {
      return mask(text, (pieces ??= prepare(secrets)));
    } catch {
      // For example, the masks may make a text too long. Text that cannot be redacted is never shown.
      return MASK;
    }
  };
}

type Pieces = ReturnType<typeof prepare>;

function prepare(secrets: readonly string[]) {
  const spellings = [...new Set(secrets)].filter((secret) => secret !== "").flatMap(spellingsOf);
  const pieces = new Set(spellings.flatMap(toPieces));
  const lengths = [...new Set(Array.from(pieces, ({ length }) => length))].toSorted((a, b) => b - a);
  const headLength = Math.min(HEAD_CHARACTERS, ...lengths);
  return {
    pieces,
    lengths,
    headLength,
    heads: new Set(Array.from(pieces, (one) => one.slice(0, headLength))),
  };
}

function mask(text: string, { pieces, lengths, headLength, heads }: Pieces): string {
  let clean = "";
  let maskedTo = 0;
  for (let start = 0; start + headLength <= text.length; start += 1) {
    if (!heads.has(text.slice(start, start + headLength))) continue;
    const length = lengths.find((one) => pieces.has(text.slice(start, start + one)));
    if (length === undefined) continue;
    // Pieces that overlap or touch become one mask.
    if (start > maskedTo || clean === "") clean += text.slice(maskedTo, start) + MASK;
    maskedTo = Math.max(maskedTo, start + length);
  }
  return clean + text.slice(maskedTo);
}

/** Cuts a spelling into pieces of equal length, so the last piece may overlap the one before. */
const toPieces = (spelling: string): string[] => [
  ...(spelling.match(WHOLE_PIECES) ?? []),
  spelling.slice(-PIECE_CHARACTERS),
];

function spellingsOf(secret: string): string[] {
  const text = secret.toWellFormed();
  const json = toJson(secret);
  const form = new URLSearchParams({ s: text }).toString().slice(2);
  const percent = [encodeURIComponent(text), encodeURI(text), form];
  const bytes = new TextEncoder().encode(text);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [
    secret,
    text,
    text.toLowerCase(),
    text.toUpperCase(),
    json,
    // A service may quote a whole JSON request as a string inside its JSON response.
    toJson(json),
    toPhpJson(json),
    ...percent.flatMap((one) => [one, one.replace(/%../g, (escape) => escape.toLowerCase())]),
    ...[...base64Of(bytes), hex, hex.toUpperCase()].filter(({ length }) => length >= TELLING_CHARACTERS),
  ];
}

const toJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Escapes JSON as PHP does: slashes, and all characters beyond ASCII, those beyond the BMP as two surrogates. */
export const toPhpJson = (json: string): string =>
  json
    .replaceAll("/", "\\/")
    .replace(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Returns the base64 of the bytes and, for each offset in longer data, the part that other bytes do not change. */
function base64Of(bytes: Uint8Array): string[] {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const cores = [0, 1, 2].map((offset) => {
    const end = Math.floor(((offset + bytes.length) * 4) / 3);
    return btoa("\0".repeat(offset) + binary).slice(offset && offset + 1, end);
  });
  return [btoa(binary), ...cores].flatMap((one) => [one, one.replaceAll("+", "-").replaceAll("/", "_")]);
}
