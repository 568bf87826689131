import { randomInt } from "node:crypto";

const DIGITS = "0123456789";
const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER = UPPER.toLowerCase();

/** With 62 characters to choose from: more than the 128 bits of a random UUID. */
const RANDOM_CHARACTERS = 24;

/**
 * A random challenge that shows what an endpoint does to it. It begins with digits, of which a number parser makes a number
 * and drops the rest; then come letters of both cases, which no change of case leaves alone. Letters and digits only: every
 * encoding writes them as they are. (`e` and `x` would continue a number: the first letter is neither.)
 */
export function createChallenge(): string {
  const first = pick(DIGITS.slice(1));
  return `${first}${pick(DIGITS, 7)}k${pick(UPPER)}${pick(LOWER)}${pick(DIGITS + UPPER + LOWER, RANDOM_CHARACTERS)}`;
}

/** The number that stands at the start of a challenge. */
export const numberOf = (challenge: string): string => String(Number.parseInt(challenge, 10));

function pick(alphabet: string, count = 1): string {
  return Array.from({ length: count }, () => alphabet[randomInt(alphabet.length)]).join("");
}
