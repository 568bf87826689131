/** How many characters of a foreign body an error quotes. */
const QUOTED_CHARACTERS = 500;

/** What stands in place of a secret. */
export const MASK = "[redacted]";

/** A shorter piece of base64 or hex stands in innocent texts too. */
const TELLING_CHARACTERS = 8;

/** Takes every secret out of a text, plain and in the usual encodings. Empty secrets are skipped. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  const longestFirst = [...new Set(secrets)]
    .filter((secret) => secret !== "")
    .toSorted((a, b) => b.length - a.length);
  if (longestFirst.length === 0) return text;
  // Percent and hex encodings come in both cases, hence the flag.
  return text.replace(new RegExp(longestFirst.map(patternOf).join("|"), "gi"), MASK);
}

/** Quotes a foreign text for an error: redacted, on one line, cut, and without control characters, which could drive a terminal. */
export function quote(text: string, secrets: readonly string[], characters = QUOTED_CHARACTERS): string {
  const line = redactSecrets(text, secrets)
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
  return line.length > characters ? `${line.slice(0, characters)}…` : line;
}

function patternOf(secret: string): string {
  const asJson = JSON.stringify(secret).slice(1, -1);
  return [spelledPattern(secret), ...base64PatternsOf(secret), ...base64PatternsOf(asJson), hexOf(secret)]
    .filter((pattern) => pattern !== "")
    .join("|");
}

/**
 * Character by character, because encoders differ in which ones they escape: JSON of PHP writes `\/`, of Go `\u0026`,
 * HTML of Python `&#x27;`, and JSON within JSON doubles each backslash.
 */
function spelledPattern(secret: string): string {
  return secret.replace(/(\\*)([^\\][\udc00-\udfff]?|$)/g, (_, backslashes: string, char: string) => {
    const count = backslashes.length;
    // One quantifier for a whole run: several in a row would be tried in every combination.
    const run = `(?:\\\\u005c|\\\\|${percentPattern("\\")}|${entityPattern("\\")}){${count},${count * 8 + 7}}`;
    return char === "" ? (count === 0 ? "" : run) : `${run}(?:${charPatterns(char).join("|")})`;
  });
}

function charPatterns(char: string): string[] {
  const units = Array.from({ length: char.length }, (_, index) => char.charCodeAt(index));
  const unicode = units.map((unit) => `u${unit.toString(16).padStart(4, "0")}`).join("\\\\{1,8}");
  // JSON's short escapes, such as \n; the backslashes before it are in the run.
  const short = /^\\([bfnrt])$/.exec(JSON.stringify(char).slice(1, -1))?.[1];
  return [
    unicode,
    percentPattern(char),
    entityPattern(char),
    ...(char === " " ? ["\\+"] : []),
    ...(short === undefined ? [] : [short]),
    escapeRegExp(char),
    escapeRegExp(char.toWellFormed()),
  ];
}

/** `%C3%BC`, also encoded several times over. */
const percentPattern = (char: string): string =>
  bytesOf(char)
    .map((byte) => `%(?:25){0,3}${hexOfByte(byte)}`)
    .join("");

/** `&#252;`, `&#xfc;` and `&uuml;`, also encoded several times over. */
function entityPattern(char: string): string {
  const point = char.codePointAt(0) ?? 0;
  const name = /[a-z0-9]/i.test(char) ? "" : "|[a-z]{2,8}";
  return `&(?:amp;){0,3}(?:#0{0,6}${point}|#x0{0,6}${point.toString(16)}${name});`;
}

/** The base64 characters that depend on the text alone, at each of the three places where it may stand in a longer one. */
function base64PatternsOf(text: string): string[] {
  const bytes = bytesOf(text);
  const cores = [0, 1, 2].map((offset) => {
    const encoded = btoa(String.fromCharCode(...Array<number>(offset).fill(0), ...bytes));
    return encoded.slice(offset === 0 ? 0 : offset + 1, Math.floor(((offset + bytes.length) * 4) / 3));
  });
  return cores.filter((core) => core.length >= TELLING_CHARACTERS).map(base64Pattern);
}

/** With the characters of base64url too, and without what only fills it up. */
const base64Pattern = (core: string): string =>
  `${core.replaceAll(/[+/]/g, (char) => (char === "+" ? "[+-]" : "[/_]"))}[\\w+/-]?={0,2}`;

function hexOf(secret: string): string {
  const hex = bytesOf(secret).map(hexOfByte).join("");
  return hex.length >= TELLING_CHARACTERS ? hex : "";
}

const bytesOf = (text: string): number[] => [...new TextEncoder().encode(text)];

const hexOfByte = (byte: number): string => byte.toString(16).padStart(2, "0");

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
