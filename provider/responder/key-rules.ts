/** A separate entry file for the rules of verification keys: the resources load nothing else from this folder. */
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

/** Whether a string looks like a mask that a service returns instead of a key. */
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

/** Returns a warning, to print after the key's name, if the key is short enough to be guessed. */
export const warningOfKey = (key: string): string | undefined =>
  key.length >= SHORT_KEY_CHARACTERS
    ? undefined
    : `has fewer than ${SHORT_KEY_CHARACTERS} characters and can be guessed; ${KEY_HINT}`;

export const verificationKeyShape = (): z.ZodType<string> => validatedBy(problemsOfKey);
