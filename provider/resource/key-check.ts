import { checkSecret, fail, type CheckFailure } from "./checks.js";
import { looksMasked } from "./mask.js";
import { say } from "./progress.js";
import { UNKNOWN } from "./unknown.js";

/** Keys shorter than this can be guessed, in characters. */
const SHORT_KEY_CHARACTERS = 16;
const KEY_HINT = "make one with: openssl rand -hex 32";

/** Looks at a verification key that the program gives, under the name of its input. Nothing of it is shown. */
export const checkVerificationKey = (input: string, value: unknown): CheckFailure[] => [
  ...checkSecret(input, value, KEY_HINT),
  ...checkMask(input, value),
];

function checkMask(input: string, value: unknown): CheckFailure[] {
  if (typeof value !== "string" || value === UNKNOWN || !looksMasked(value)) return [];
  return [
    fail(
      `${input}: must be the key itself, got ${value.length} characters that look like a mask; do not copy it from an answer of the service; ${KEY_HINT}`,
    ),
  ];
}

/** Says that a key is short enough to be guessed. */
export function warnOfShortKey(name: string, input: string, key: string): void {
  if (key === UNKNOWN || key.length >= SHORT_KEY_CHARACTERS) return;
  say(
    name,
    `warning: ${input} has fewer than ${SHORT_KEY_CHARACTERS} characters and can be guessed; ${KEY_HINT}`,
  );
}
