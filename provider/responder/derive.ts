import type { FieldProblem } from "../errors/index.js";

/** What a derived key depends on in addition to the secret seed. These values make each key different. */
export interface DerivationOptions {
  /** The owner of the key, such as the workspace's name: text without control characters. */
  subject: string;
  /** The names of one or more rotations, the current one first: `["2026-12", "2026-09"]`. Each name only once. */
  rotations: readonly string[];
}

/** Limited, because there is a key for each seed and rotation, and a wrong signature is checked against all keys. */
export const MAX_SEEDS = 3;
export const MAX_ROTATIONS = 10;

/** The maximum length of a subject or a rotation, in characters. */
const MAX_LINE_CHARACTERS = 128;

const MIN_SEED_BYTES = 32;
const MIN_DISTINCT_CHARACTERS = 10;
const DERIVED_BYTES = 32;

/** The first line of the info string (RFC 5869, section 3.2). It must change if the derivation changes. */
const PURPOSE = "pulumi-apichat verification key 1";

/** The cache is cleared when it holds this many subjects, so that requests for many subjects cannot fill the memory. */
const SUBJECTS_KEPT = 16_384;

/**
 * Derives the verification keys of one workspace from a secret seed, the current one first. The result equals
 * the `keys` of a `VerificationKey` with `derivedFrom`, so an endpoint needs only one secret for any number
 * of workspaces.
 *
 * Each key is HKDF-SHA256 (RFC 5869) of the seed's UTF-8 bytes, without salt: 32 bytes, in base64url without
 * padding. The info string has three lines: `pulumi-apichat verification key 1`, the subject and the
 * rotation, joined by line feeds.
 *
 * If `seed` is a list, the current key is derived from the first seed. The other seeds' keys are also returned, so a
 * seed can be rotated. Results are cached. Rejects with a TypeError for a seed of less than 32 random bytes, and for
 * a subject or rotation that is empty, is longer than 128 characters or contains control characters.
 *
 * @example
 * if (!workspaces.has(name)) return new Response(null, { status: 404 });
 * const verificationKeys = await deriveVerificationKeys(seed, { subject: name, rotations: ["2026-12", "2026-09"] });
 * return createResponder({ verificationKeys, onDelivery })(request);
 */
export async function deriveVerificationKeys(
  seed: string | readonly string[],
  { subject, rotations }: DerivationOptions,
): Promise<string[]> {
  const cacheKey = JSON.stringify([seed, subject, rotations]);
  const known = derived.get(cacheKey);
  if (known !== undefined) return [...known];
  const problems = problemsOfDerivation({ derivedFrom: seed, subject, rotations });
  if (problems.length > 0) {
    // In the arguments of a resource, the seed is named `derivedFrom`.
    const named = problems.map(({ field, text }) => `${field === "derivedFrom" ? "seed" : field}: ${text}`);
    throw new TypeError(named.join("; "));
  }
  const pairs = [seed].flat().flatMap((secret) => rotations.map((rotation) => [secret, rotation] as const));
  const keys = await Promise.all(
    pairs.map(async ([secret, rotation]) => {
      return toBase64Url(await hkdf(secret, [PURPOSE, subject, rotation].join("\n")));
    }),
  );
  if (derived.size >= SUBJECTS_KEPT) derived.clear();
  derived.set(cacheKey, keys);
  return [...keys];
}

const derived = new Map<string, readonly string[]>();

const encoder = new TextEncoder();

/** HKDF-SHA256 (RFC 5869) without salt, with the Web Crypto API that Node, Workers and Lambda share. */
async function hkdf(secret: string, info: string): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), "HKDF", false, ["deriveBits"]);
  const algorithm = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode(info) };
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, DERIVED_BYTES * 8));
}

const toBase64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");

const CONTROL = /\p{Cc}/u;
const HEX = /^[0-9a-f]+$/i;

/** The rules for each input, by its name in resources and configurations. No error text quotes a seed. */
export const DERIVATION_RULES = {
  derivedFrom: problemsOfSeeds,
  subject: problemsOfLine,
  rotations: problemsOfRotations,
};

type DerivationInput = keyof typeof DERIVATION_RULES;

export const problemsOfDerivation = (given: Partial<Record<DerivationInput, unknown>>): FieldProblem[] =>
  Object.entries(given).flatMap(([field, value]) =>
    DERIVATION_RULES[field as DerivationInput](value).map((text) => ({ field, text })),
  );

function problemsOfSeeds(seeds: unknown): string[] {
  if (!Array.isArray(seeds)) return problemsOfSeed(seeds);
  if (seeds.length === 0 || seeds.length > MAX_SEEDS) {
    return [`must be a string or a list of 1 to ${MAX_SEEDS} strings, got a list of ${seeds.length}`];
  }
  return problemsOfItems(seeds, problemsOfSeed);
}

const problemsOfItems = (items: readonly unknown[], problemsOfItem: (item: unknown) => string[]): string[] =>
  items.flatMap((item, index) => problemsOfItem(item).map((problem) => `[${index}] ${problem}`));

/** A base64 character holds six bits, and a hex digit four. A string of few different characters is not random. */
function problemsOfSeed(seed: unknown): string[] {
  const hint = "make one with: openssl rand -base64 32";
  if (typeof seed !== "string")
    return [`must be a string of at least ${MIN_SEED_BYTES} random bytes; ${hint}`];
  if (CONTROL.test(seed) || seed.trim() !== seed) {
    return [`must have no surrounding whitespace and no control characters; ${hint}`];
  }
  const bytes = Math.floor(HEX.test(seed) ? seed.length / 2 : (seed.length * 3) / 4);
  if (bytes < MIN_SEED_BYTES) {
    const got = `a string of ${seed.length} characters, which can contain ${bytes} at most`;
    return [`must contain at least ${MIN_SEED_BYTES} random bytes, got ${got}; ${hint}`];
  }
  if (new Set(seed).size >= MIN_DISTINCT_CHARACTERS) return [];
  return [`must be random, got a string of only ${new Set(seed).size} different characters; ${hint}`];
}

export function problemsOfRotations(rotations: unknown): string[] {
  const hint = 'for example ["2026-12"]';
  if (!Array.isArray(rotations) || rotations.length === 0 || rotations.length > MAX_ROTATIONS) {
    const got = Array.isArray(rotations) ? `${rotations.length}` : "none";
    return [`must be a list of 1 to ${MAX_ROTATIONS} names, got ${got}; ${hint}`];
  }
  const repeated = rotations.filter((rotation, index) => rotations.indexOf(rotation) < index);
  return [
    ...problemsOfItems(rotations, problemsOfLine).map((problem) => `${problem}; ${hint}`),
    ...repeated.map((rotation) => `must name each rotation only once, got ${JSON.stringify(rotation)} twice`),
  ];
}

function problemsOfLine(text: unknown): string[] {
  const isLine = typeof text === "string" && text !== "" && !CONTROL.test(text) && text.isWellFormed();
  if (isLine && text.length <= MAX_LINE_CHARACTERS) return [];
  return [`must be a string of 1 to ${MAX_LINE_CHARACTERS} characters without control characters`];
}
