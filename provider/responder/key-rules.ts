/** A separate entry file: the rules for verification keys. A resource needs nothing else from this module. */
import { problemOfSecret } from "../lib/values.js";
import { validatedBy } from "../lib/validate.js";
import type * as z from "zod";

export {
  DERIVATION_RULES,
  deriveVerificationKeys,
  problemsOfDerivation,
  problemsOfRotations,
} from "./derive.js";
export { problemOfKeyCount } from "./keys.js";

const MASK_PATTERN = /[*•●…]{3,}|^[[(<]?(redacted|secret|masked|hidden)[\])>]?$|^[x.]{4,}$/iu;

/** Whether a string looks like a mask that services show in place of a key. */
export const looksMasked = (text: string): boolean => MASK_PATTERN.test(text);

/** Keys with fewer characters than this can be guessed. */
const SHORT_KEY_CHARACTERS = 16;
const KEY_HINT = "make one with: openssl rand -hex 32";

export function problemsOfKey(value: unknown): string[] {
  const problem = problemOfSecret(value, KEY_HINT);
  const isMask = typeof value === "string" && looksMasked(value);
  const mask =
    `must be the key itself, got ${String(value).length} characters that look like a mask; ` +
    `do not copy it from a response of the service; ${KEY_HINT}`;
  return [...(problem === undefined ? [] : [problem]), ...(isMask ? [mask] : [])];
}

/** Returns a warning if a key is short enough to be guessed. It follows the name of the key. */
export const warningOfKey = (key: string): string | undefined =>
  key.length >= SHORT_KEY_CHARACTERS
    ? undefined
    : `has fewer than ${SHORT_KEY_CHARACTERS} characters and can be guessed; ${KEY_HINT}`;

export const verificationKeyShape = (): z.ZodType<string> => validatedBy(problemsOfKey);
